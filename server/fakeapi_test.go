package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/write"
)

// fakeAPI is an API server with pods and widgets. It sends its objects as the snapshot of each
// watch, then the events that a test sends to it, and responds to changes as the test defines. e2e
// uses a real one; this one is for behaviour that cannot be triggered in a real one.
type fakeAPI struct {
	objects []any    // of the snapshot
	version string   // of the snapshot
	events  chan any // sent to the open watch
	// forbidden denies the service the permission to list and watch.
	forbidden bool
	slow      chan struct{}    // closed when the snapshot can be sent; nil for at once
	change    http.Handler     // handles changes
	log       http.Handler     // handles reads of a log
	list      http.Handler     // handles lists, unless they are for a watch
	served    map[string]any   // discovery documents in addition to discovered, or replacing some
	of        map[string][]any // objects of the snapshot, by resource, instead of objects
	// eventsOf are sent to the open watch of a resource, instead of events.
	eventsOf map[string]chan any

	mu      sync.Mutex // guards changes
	changes []*http.Request
}

// discovered are the default discovery documents.
var discovered = map[string]any{
	"/readyz":  "ok",
	"/version": map[string]string{"gitVersion": "v1.37.1"},
	"/api":     metav1.APIVersions{Versions: []string{"v1"}},
	"/apis":    metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "example.com", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "example.com/v1", Version: "v1"}}}}},
	"/api/v1":  metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{served("pods", "Pod", true, "all"), served("nodes", "Node", false), {Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}}}},
	"/apis/example.com/v1": metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
		served("widgets", "Widget", true)}},
	"/openapi/v3": map[string]any{"paths": map[string]any{"api/v1": map[string]any{"serverRelativeURL": "/openapi/v3/api/v1?hash=a"}}},
	"/openapi/v3/api/v1": map[string]any{"components": map[string]any{"schemas": map[string]any{
		"io.k8s.api.core.v1.Pod": map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{"$ref": "#/components/schemas/Spec"}},
			"x-kubernetes-group-version-kind": []any{map[string]any{"group": "", "version": "v1", "kind": "Pod"}}},
		"Spec": map[string]any{"type": "object"},
	}}},
}

func served(name, kind string, namespaced bool, categories ...string) metav1.APIResource {
	return metav1.APIResource{Name: name, SingularName: strings.ToLower(kind), Kind: kind, Namespaced: namespaced, Categories: categories, Verbs: []string{"get", "list", "watch", "patch"}}
}

func (api *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if answer, ok := api.served[r.URL.Path]; ok {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	if answer, ok := discovered[r.URL.Path]; ok {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/apiservices"):
		http.NotFound(w, r) // it has no aggregated discovery
	case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions"):
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "Forbidden", Code: 403})
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/log"):
		api.log.ServeHTTP(w, r)
	case r.Method == http.MethodGet && api.forbidden:
		answerWith(http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "Forbidden", Code: 403})(w, r)
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		api.watch(w, r)
	case r.Method == http.MethodGet && api.list != nil:
		api.list.ServeHTTP(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusBadRequest) // a field selector that is not supported
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "BadRequest", Code: 400})
	default:
		api.mu.Lock()
		api.changes = append(api.changes, r.Clone(context.Background()))
		api.mu.Unlock()
		api.change.ServeHTTP(w, r)
	}
}

func (api *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	send := func(event any) {
		_ = json.NewEncoder(w).Encode(event)
		_ = http.NewResponseController(w).Flush()
	}
	if api.slow != nil {
		<-api.slow
	}
	objects := api.objects
	if api.of != nil {
		objects = api.of[path.Base(r.URL.Path)]
	}
	for _, object := range objects {
		send(watchEvent{"ADDED", object})
	}
	bookmark := objecttest.Pod("", 0)
	bookmark.UID, bookmark.ResourceVersion = "", api.version
	bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	send(watchEvent{"BOOKMARK", bookmark})
	events := api.events
	if api.eventsOf != nil {
		events = api.eventsOf[path.Base(r.URL.Path)]
	}
	for {
		select {
		case event := <-events:
			send(event)
		case <-r.Context().Done():
			return
		}
	}
}

type watchEvent struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// service is a complete service on a fake API server, with clients.
type service struct {
	api       *fakeAPI
	url       string
	stop      context.CancelFunc // begins to shut down the service
	readiness *edge.Readiness
	http      *http.Client
	resources kubeconnectv1connect.ResourceServiceClient
	pods      kubeconnectv1connect.PodServiceClient
}

func newService(t *testing.T, api *fakeAPI, authenticator auth.Authenticator, options ...connect.ClientOption) *service {
	t.Helper()
	return newLimitedService(t, api, authenticator, edge.Limits{}, options...)
}

// withRights returns a service whose callers have the permissions of a fake cluster.
func withRights(t *testing.T, api *fakeAPI, rights *fakeRights) *service {
	t.Helper()
	return newServiceOf(t, api, Config{Authenticator: rights, Authorizer: rights, Recheck: time.Hour})
}

func newLimitedService(t *testing.T, api *fakeAPI, authenticator auth.Authenticator, limits edge.Limits, options ...connect.ClientOption) *service {
	t.Helper()
	everything := newFakeRights(auth.Namespaces{All: true})
	return newServiceOf(t, api, Config{Authenticator: authenticator, Authorizer: everything, Limits: limits}, options...)
}

// newServiceOf starts a service with a configuration that it completes.
func newServiceOf(t *testing.T, api *fakeAPI, of Config, options ...connect.ClientOption) *service {
	t.Helper()
	return newServiceWithHub(t, api, of, informerhub.Options{}, options...)
}

func newServiceWithHub(t *testing.T, api *fakeAPI, of Config, hubOptions informerhub.Options, options ...connect.ClientOption) *service {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	config := &rest.Config{Host: upstream.URL}
	hub, err := informerhub.New(config, hubOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	clients, err := auth.NewClientFactory(config, write.NoteOutcome)
	if err != nil {
		t.Fatal(err)
	}
	stopping, stop := context.WithCancel(t.Context())
	s := &service{api: api, stop: stop, readiness: &edge.Readiness{}}
	of.Hub, of.Clients, of.Readiness = hub, clients, s.readiness
	of.OnShutdown = func(end func()) func() bool { return context.AfterFunc(stopping, end) }
	of.Console = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the console") })
	server := httptest.NewUnstartedServer(New(of))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(stop)
	s.url, s.http = server.URL, server.Client()
	s.resources = kubeconnectv1connect.NewResourceServiceClient(s.http, s.url, options...)
	s.pods = kubeconnectv1connect.NewPodServiceClient(s.http, s.url, options...)
	return s
}

// podsAPI returns an API server with two pods.
func podsAPI() *fakeAPI {
	return &fakeAPI{objects: []any{objecttest.Pod("a", 3), objecttest.Pod("b", 4)}, version: "10", events: make(chan any)}
}

// resourcesOf returns the handlers of a service on a fake API server, without gates and
// interceptors.
func resourcesOf(t testing.TB, api *fakeAPI, limits edge.Limits) resources {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	config := &rest.Config{Host: upstream.URL}
	hub, err := informerhub.New(config, informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	clients, err := auth.NewClientFactory(config, write.NoteOutcome)
	if err != nil {
		t.Fatal(err)
	}
	rights := newFakeRights(auth.Namespaces{All: true})
	return newHandlers(Config{Hub: hub, Clients: clients, Authorizer: rights, Limits: limits, Metrics: edge.NewMetrics()}, edge.NewCallers(limits), ledger.New(ledger.Limits{Total: 1 << 30})).resources
}
