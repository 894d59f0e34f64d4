package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

const (
	// smallWindow is the receive window of a client that does not read.
	smallWindow = 64 << 10
)

// directly returns a service without connections, and the context of a call by jane.
func directly(t *testing.T, api *servertest.FakeAPI, rights *servertest.FakeRights) (resources, context.Context) {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	hub, err := informerhub.New(&rest.Config{Host: upstream.URL}, informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	config := Config{Edge: edge.Config{Authenticator: rights, Metrics: observe.NewMetrics()}, Hub: hub, Authorizer: rights, Recheck: time.Hour}
	jane := call.Caller{Identity: rights.Who, Authenticator: rights, Header: http.Header{}}
	return newHandlers(config, gate.NewCallers(gate.Limits{}), nil).resources, call.WithCaller(t.Context(), jane)
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
	t.Parallel()
	for what, stream := range map[string]struct{ method, request string }{
		"Watch":                    {"Watch", `{"resource":"pods"}`},
		"WatchMany":                {"WatchMany", `{"watches":[{"resource":"pods"},{"resource":"pods"}]}`},
		"WatchMany of independent": {"WatchMany", `{"independent":true,"watches":[{"resource":"pods"},{"resource":"pods"}]}`},
		"WatchMany of counts":      {"WatchMany", `{"counts":[{"resource":"pods","groupBy":["metadata.name","metadata.annotations.large"]}]}`},
		"WatchCounts":              {"WatchCounts", `{"resource":"pods","groupBy":["metadata.name","metadata.annotations.large"]}`},
	} {
		for name, test := range map[string]struct {
			change func(*servertest.FakeRights)
			code   string
		}{
			"no permission":   {func(rights *servertest.FakeRights) { rights.May = servertest.Some() }, "permission_denied"},
			"less permission": {func(rights *servertest.FakeRights) { rights.May = servertest.Some("other") }, "unavailable"},
			"no credential":   {func(rights *servertest.FakeRights) { rights.Refused = auth.ErrUnauthenticated }, "unauthenticated"},
		} {
			t.Run(what+" with "+name, func(t *testing.T) {
				t.Parallel()
				rights, metrics := servertest.NewFakeRights(servertest.Some("default", "other")), observe.NewMetrics()
				s := newServiceOf(t, servertest.LargePods(10), Config{Edge: edge.Config{Authenticator: rights, Metrics: metrics}, Authorizer: rights})
				openUnread(t, s, stream.method, stream.request)
				rights.Change(func() { test.change(rights) })
				wantEnded(t, metrics, test.code)
			})
		}
	}
}

// wantEnded waits until the service has ended a stream.
func wantEnded(t *testing.T, metrics *observe.Metrics, code string) {
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
	rights, metrics, source := servertest.NewFakeRights(auth.Namespaces{All: true}), observe.NewMetrics(), newContainer()
	s := newServiceOf(t, &servertest.FakeAPI{Log: source}, Config{Edge: edge.Config{Authenticator: rights, Metrics: metrics}, Authorizer: rights, Recheck: time.Hour})
	body := openSmall(t, s, "PodService/GetLogs", `{"namespace":"default","name":"a"}`)
	source.writes <- strings.Repeat("a line\n", 1<<20)
	if _, err := io.ReadFull(body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	rights.Change(func() { rights.May = servertest.Some() })
	wantEnded(t, metrics, "permission_denied")
}
