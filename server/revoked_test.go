package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

const (
	// podBytes is larger than smallWindow, and than half of a message: each pod has a message of
	// its own.
	podBytes = 100 << 10
	// smallWindow is the receive window of a client that does not read.
	smallWindow = 64 << 10
)

// largePods returns pods in each of two namespaces. Their names begin with the namespace.
func largePods(count int) *fakeAPI {
	api := &fakeAPI{version: "1000", events: make(chan any)}
	for _, namespace := range []string{"default", "other"} {
		for i := range count {
			pod := objecttest.Pod(fmt.Sprintf("%s-%d", namespace, i), len(api.objects)+1)
			pod.Namespace, pod.Annotations = namespace, map[string]string{"large": strings.Repeat("x", podBytes)}
			api.objects = append(api.objects, pod)
		}
	}
	return api
}

// directly returns a service without connections, and the context of a call by jane.
func directly(t *testing.T, api *fakeAPI, rights *fakeRights) (resources, context.Context) {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	hub, err := informerhub.New(&rest.Config{Host: upstream.URL}, informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	config := Config{Hub: hub, Authenticator: rights, Authorizer: rights, Recheck: time.Hour, Metrics: edge.NewMetrics()}
	jane := edge.Caller{Identity: rights.who, Authenticator: rights, Header: http.Header{}}
	return newHandlers(config, edge.NewCallers(edge.Limits{}), nil).resources, edge.WithCaller(t.Context(), jane)
}

// oneMessageAtATime has no client, calls between after the first message, and returns the events
// that would have been sent after that, up to SYNCED.
func oneMessageAtATime(t *testing.T, rights *fakeRights, between func()) (events []*kubeconnectv1.Event, err error) {
	t.Helper()
	s, ctx := directly(t, largePods(5), rights)
	params := watchParams{selectionParams: selectionParams{resource: "pods"}, encoding: asJSON}
	watch, err := s.start(ctx, params, s.newSender(ctx, params, nil, func(context.Context, *accessLease, edge.Guard, *kubeconnectv1.WatchResponse) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	synced, messages := errors.New("synced"), 0
	sender := s.newSender(ctx, params, nil, func(ctx context.Context, under *accessLease, guarded edge.Guard, response *kubeconnectv1.WatchResponse) error {
		return under.send(ctx, guarded, func() error {
			if messages++; messages == 2 {
				between()
				return nil
			}
			if messages > 2 {
				events = append(events, response.GetEvents()...)
			}
			if len(events) > 0 && events[len(events)-1].GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
				return synced
			}
			return nil
		})
	})
	sender.messages = true
	if err = sender.follow(ctx, watch); errors.Is(err, synced) {
		err = nil
	}
	return events, err
}

func TestRevocation_NothingMoreOfABatchIsSent(t *testing.T) {
	rights := newFakeRights(auth.Namespaces{All: true})
	events, err := oneMessageAtATime(t, rights, func() { rights.change(func() { rights.may = some() }) })
	if !apierrors.IsForbidden(err) || len(events) > 0 {
		t.Errorf("%d more events are sent, then %v", len(events), err)
	}
}

func TestRevocation_OfSomeNamespacesBeginsASnapshotOfTheOthers(t *testing.T) {
	rights := newFakeRights(some("default", "other"))
	events, err := oneMessageAtATime(t, rights, func() { rights.change(func() { rights.may = some("other") }) })
	if err != nil {
		t.Fatal(err)
	}
	if events[0].GetType() != kubeconnectv1.EventType_EVENT_TYPE_RESET {
		t.Errorf("continues with %v", events[0].GetType())
	}
	if names := namesOf(events); len(names) != 5 || slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, "other-") }) {
		t.Errorf("sends %v", names)
	}
}

func TestMorePermissions_WithinABatchApplyAfterIt(t *testing.T) {
	rights := newFakeRights(some("default"))
	events, err := oneMessageAtATime(t, rights, func() { rights.change(func() { rights.may = some("default", "other") }) })
	if err != nil {
		t.Fatal(err)
	}
	names := namesOf(events)
	slices.Sort(names)
	for _, name := range []string{"default-4", "other-0", "other-4"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not sent among %v", name, names)
		}
	}
}

func namesOf(events []*kubeconnectv1.Event) (names []string) {
	for _, event := range events {
		if name := event.GetObject().GetName(); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// smallWindowed returns a client with a small receive window.
func smallWindowed(t *testing.T, s *service) *http.Client {
	t.Helper()
	transport := s.http.Transport.(*http.Transport).Clone()
	transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: smallWindow, MaxReceiveBufferPerConnection: smallWindow}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// openUnread opens a stream, and reads it up to the beginning of a message that is larger than the
// client's window.
func openUnread(t *testing.T, s *service, method, request string) {
	t.Helper()
	body := openSmall(t, s, "ResourceService/"+method, request)
	for {
		prefix := make([]byte, 5)
		if _, err := io.ReadFull(body, prefix); err != nil {
			t.Fatal(err)
		}
		size := int64(binary.BigEndian.Uint32(prefix[1:]))
		if size > smallWindow {
			return
		}
		if _, err := io.CopyN(io.Discard, body, size); err != nil {
			t.Fatal(err)
		}
	}
}

// openSmall opens a stream of a client with a small receive window.
func openSmall(t *testing.T, s *service, method, request string) io.Reader {
	t.Helper()
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	response, err := smallWindowed(t, s).Post(s.url+"/kubeconnect.v1."+method, "application/connect+json", bytes.NewReader(frame))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.Body
}

// A stream that is not read ends when the permission is revoked, whatever is waiting to be read.
func TestRevocation_EndsAStreamThatIsNotRead(t *testing.T) {
	for what, stream := range map[string]struct{ method, request string }{
		"Watch":                    {"Watch", `{"resource":"pods"}`},
		"WatchMany":                {"WatchMany", `{"watches":[{"resource":"pods"},{"resource":"pods"}]}`},
		"WatchMany of independent": {"WatchMany", `{"independent":true,"watches":[{"resource":"pods"},{"resource":"pods"}]}`},
		"WatchMany of counts":      {"WatchMany", `{"counts":[{"resource":"pods","groupBy":["metadata.name","metadata.annotations.large"]}]}`},
		"WatchCounts":              {"WatchCounts", `{"resource":"pods","groupBy":["metadata.name","metadata.annotations.large"]}`},
	} {
		for name, test := range map[string]struct {
			change func(*fakeRights)
			code   string
		}{
			"no permission":   {func(rights *fakeRights) { rights.may = some() }, "permission_denied"},
			"less permission": {func(rights *fakeRights) { rights.may = some("other") }, "unavailable"},
			"no credential":   {func(rights *fakeRights) { rights.refused = auth.ErrUnauthenticated }, "unauthenticated"},
		} {
			t.Run(what+" with "+name, func(t *testing.T) {
				rights, metrics := newFakeRights(some("default", "other")), edge.NewMetrics()
				s := newServiceOf(t, largePods(10), Config{Authenticator: rights, Authorizer: rights, Metrics: metrics})
				openUnread(t, s, stream.method, stream.request)
				rights.change(func() { test.change(rights) })
				wantEnded(t, metrics, test.code)
			})
		}
	}
}

// wantEnded waits until the service has ended a stream.
func wantEnded(t *testing.T, metrics *edge.Metrics, code string) {
	t.Helper()
	for {
		calls := metricstest.Lines(t, metrics, "kubeconnect_calls_total")
		if len(calls) == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if !strings.Contains(calls[0], `code="`+code+`"`) {
			t.Errorf("the stream ends with %s, want %s", calls[0], code)
		}
		return
	}
}

func TestRevocation_EndsALogThatIsNotRead(t *testing.T) {
	rights, metrics, source := newFakeRights(auth.Namespaces{All: true}), edge.NewMetrics(), newContainer()
	s := newServiceOf(t, &fakeAPI{log: source}, Config{Authenticator: rights, Authorizer: rights, Recheck: time.Hour, Metrics: metrics})
	body := openSmall(t, s, "PodService/GetLogs", `{"namespace":"default","name":"a"}`)
	source.writes <- strings.Repeat("a line\n", 1<<20)
	if _, err := io.ReadFull(body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	rights.change(func() { rights.may = some() })
	wantEnded(t, metrics, "permission_denied")
}
