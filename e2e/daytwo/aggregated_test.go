package daytwo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// The server behind an aggregated API is away for a while. Its callers get UNAVAILABLE, or stale
// objects if the group is cached, and their streams stay open; nothing else is affected, and a replica
// can start meanwhile. When the server is back, everything continues.
func TestAggregatedAPI_IsLostAndComesBack(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	d := newDesk(ctx, t)
	d.api.link.Set(harness.Refused)
	untilUnavailable(ctx, t, d.controlPlane)
	d.api.add("second")
	starting := harness.StartService(t, d.controlPlane.Kubeconfig)
	d.clients["started meanwhile"] = harness.Dial(harness.HTTP2(t), starting.Address, harness.GRPC)
	kit.UntilProbe(ctx, t, starting, "/readyz", http.StatusOK)
	d.wantOthersServed(ctx)
	d.wantTicketsLost(ctx)
	for _, stream := range d.streams {
		stream.Until(ctx, "the stream is stale", func(view *record.View) bool { return view.Freshness.GetStale() })
	}

	d.api.link.Set(harness.None)
	for name, stream := range d.streams {
		untilHasTicket(ctx, stream, "second")
		stream.Until(ctx, name+" is current", func(view *record.View) bool { return !view.Freshness.GetStale() })
	}
	for name, client := range d.clients {
		kit.Eventually(ctx, t, name+" lists the tickets", func() error { return listTickets(ctx, client) })
	}
}

// desk is a control plane with tickets, and services with and without a cache of them.
type desk struct {
	t            *testing.T
	controlPlane *harness.Cluster
	api          *ticketsAPI
	other        *corev1.ConfigMap
	clients      map[string]harness.Clients
	streams      map[string]*record.Stream
}

// newDesk creates a first ticket, and opens a stream at each service.
func newDesk(ctx context.Context, t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, controlPlane: startCluster(t), clients: map[string]harness.Clients{}, streams: map[string]*record.Stream{}}
	namespace := kit.NewNamespace(ctx, t, d.controlPlane)
	d.other = kit.ConfigMapsIn(ctx, t, d.controlPlane, namespace).Create("one", nil)
	d.api = startTickets(ctx, t, d.controlPlane, namespace)
	d.api.add("first")
	for name, flags := range map[string][]string{"not cached": nil, "cached": {"--cache-aggregated", ticketsGroup}} {
		client := harness.Dial(harness.HTTP2(t), harness.StartService(t, d.controlPlane.Kubeconfig, flags...).Address, harness.GRPC)
		kit.Eventually(ctx, t, "the tickets are listed", func() error { return listTickets(ctx, client) })
		d.clients[name], d.streams[name] = client, record.Watch(t, client.Resources, &kubeconnectv1.WatchRequest{Resource: tickets})
		untilHasTicket(ctx, d.streams[name], "first")
	}
	return d
}

// wantOthersServed fails the test unless all other resources are served, also those that nothing has
// read before.
func (d *desk) wantOthersServed(ctx context.Context) {
	d.t.Helper()
	for name, client := range d.clients {
		kit.UntilRead(ctx, d.t, client.Resources, "configmaps", d.other)
		if _, err := client.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "deployments"}); err != nil {
			d.t.Errorf("%s: deployments: %v", name, err)
		}
		kit.Eventually(ctx, d.t, name+" lists all other types", func() error { return listsTypesWithout(ctx, client.Discovery) })
	}
}

// wantTicketsLost fails the test unless the tickets are stale where they are cached, and UNAVAILABLE
// elsewhere.
func (d *desk) wantTicketsLost(ctx context.Context) {
	d.t.Helper()
	for _, name := range []string{"not cached", "started meanwhile"} {
		err := listTickets(ctx, d.clients[name])
		kit.WantError(d.t, err, connect.CodeUnavailable)
		kit.WantStatus(d.t, err, "ServiceUnavailable")
	}
	kit.Eventually(ctx, d.t, "the cached tickets are stale", func() error {
		list, err := d.clients["cached"].Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: tickets})
		if err == nil && (len(list.GetObjects()) != 1 || !list.GetFreshness().GetStale()) {
			err = fmt.Errorf("%d tickets, stale: %v", len(list.GetObjects()), list.GetFreshness().GetStale())
		}
		return err
	})
}

const (
	ticketsGroup = "desk.example.com"
	tickets      = "tickets." + ticketsGroup
)

var ticketsVersion = schema.GroupVersion{Group: ticketsGroup, Version: "v1"}

func listTickets(ctx context.Context, client harness.Clients) error {
	_, err := client.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: tickets})
	return err
}

// listsTypesWithout returns an error unless the types are listed, and the version of the tickets is
// listed as one whose discovery has failed.
func listsTypesWithout(ctx context.Context, client kit.DiscoveryClient) error {
	types, err := client.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
	if err != nil {
		return err
	}
	failed := slices.ContainsFunc(types.GetFailedGroupVersions(), func(failed *kubeconnectv1.FailedGroupVersion) bool {
		return failed.GetGroup() == ticketsGroup
	})
	if !failed || kit.TypeOf(types, "configmaps") == nil {
		return fmt.Errorf("%d types; failed: %v", len(types.GetResourceTypes()), types.GetFailedGroupVersions())
	}
	return nil
}

func untilHasTicket(ctx context.Context, stream *record.Stream, name string) {
	stream.Until(ctx, "the stream has the ticket "+name, func(view *record.View) bool {
		for key := range view.Model.Objects {
			if key.Name == name {
				return view.Model.Synced
			}
		}
		return false
	})
}

// untilUnavailable blocks until the API server knows that the server of the tickets is away.
func untilUnavailable(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	kit.Eventually(ctx, t, "the API server has lost the aggregated API", func() error {
		_, err := controlPlane.Dynamic.Resource(ticketsVersion.WithResource("tickets")).List(ctx, metav1.ListOptions{})
		if apierrors.IsServiceUnavailable(err) {
			return nil
		}
		return fmt.Errorf("it returns: %w", err)
	})
}

// ticketsAPI is the server of an aggregated API. It keeps tickets in memory, and supports list and watch.
type ticketsAPI struct {
	link *harness.Proxy // between the API server and this server

	mu      sync.Mutex // guards the fields below
	tickets []map[string]any
	more    chan struct{} // closed and replaced when a ticket is added
}

// startTickets makes the API server forward requests for tickets to a server of the test.
func startTickets(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) *ticketsAPI {
	t.Helper()
	api := &ticketsAPI{more: make(chan struct{})}
	server := httptest.NewTLSServer(api.handler())
	t.Cleanup(server.Close)
	api.link = harness.StartProxy(t, server.Listener.Addr().String(), harness.None)
	kit.ServeAggregated(ctx, t, controlPlane, namespace, ticketsVersion, api.link.Address())
	kit.Eventually(ctx, t, "the tickets are served", func() error {
		_, err := controlPlane.Dynamic.Resource(ticketsVersion.WithResource("tickets")).List(ctx, metav1.ListOptions{})
		return err
	})
	return api
}

// add adds a ticket. The version of the n-th ticket is n.
func (a *ticketsAPI) add(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	version := strconv.Itoa(len(a.tickets) + 1)
	a.tickets = append(a.tickets, map[string]any{
		"apiVersion": ticketsVersion.String(), "kind": "Ticket",
		"metadata": map[string]any{"name": name, "uid": "uid-of-" + name, "resourceVersion": version},
	})
	close(a.more)
	a.more = make(chan struct{})
}

// since returns the tickets after a version, and a channel that is closed when there are more.
func (a *ticketsAPI) since(version int) (tickets []map[string]any, more <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tickets[min(version, len(a.tickets)):], a.more
}

func (a *ticketsAPI) handler() http.Handler {
	mux := http.NewServeMux()
	prefix := "GET /apis/" + ticketsVersion.String()
	mux.HandleFunc(prefix, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: ticketsVersion.String(),
			APIResources: []metav1.APIResource{{Name: "tickets", SingularName: "ticket", Kind: "Ticket", Verbs: []string{"get", "list", "watch"}}},
		})
	})
	mux.HandleFunc(prefix+"/tickets", func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case query.Get("watch") == "":
			tickets, _ := a.since(0)
			writeJSON(w, http.StatusOK, map[string]any{
				"apiVersion": ticketsVersion.String(), "kind": "TicketList",
				"metadata": map[string]any{"resourceVersion": strconv.Itoa(max(1, len(tickets)))}, "items": tickets,
			})
		case query.Get("sendInitialEvents") != "":
			status := apierrors.NewBadRequest("sendInitialEvents is not supported").Status()
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			writeJSON(w, http.StatusBadRequest, status)
		default:
			version, _ := strconv.Atoi(query.Get("resourceVersion"))
			a.watch(w, r, version)
		}
	})
	return mux
}

// watch sends the tickets after a version until the request ends.
func (a *ticketsAPI) watch(w http.ResponseWriter, r *http.Request, version int) {
	w.Header().Set("Content-Type", "application/json")
	for {
		tickets, more := a.since(version)
		for _, ticket := range tickets {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": ticket})
		}
		version += len(tickets)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content)
}
