package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// countedService identifies callers by name, allows one stream each, and counts.
type countedService struct {
	*service
	*observe.Metrics
}

func newCountedService(t *testing.T) countedService {
	t.Helper()
	metrics, everything := observe.NewMetrics(), servertest.NewFakeRights(auth.Namespaces{All: true})
	named := authenticatorFunc(func(header http.Header) (auth.Identity, error) {
		if header.Get("Who") == "" {
			return auth.Identity{}, auth.ErrUnauthenticated
		}
		return byName(header)
	})
	return countedService{newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: named, Limits: gate.Limits{Streams: 1}, Metrics: metrics}, Authorizer: everything}), metrics}
}

// end makes the service end a stream: its handler has ended before the client sees it.
func (s countedService) end(stream *responses.Stream[kubeconnectv1.WatchResponse]) {
	s.stop()
	for stream.Receive() {
	}
	_ = stream.Close()
}

func TestMetrics_CountCallsByCodeInEveryProtocol(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			s := newCountedService(t)
			clients := namedClientOf(s.service, options...)
			for _, who := range []string{"jane", "jane", ""} {
				_ = clients.getPod(t, who)
			}
			_, _ = clients.Get(as(t.Context(), "jane"), &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "nosuch"})
			metricstest.WantLines(t, s, "kubeconnect_calls_total",
				`{code="not_found",procedure="/kubeconnect.v1.ResourceService/Get"} 1`,
				`{code="ok",procedure="/kubeconnect.v1.ResourceService/Get"} 2`,
				`{code="unauthenticated",procedure="/kubeconnect.v1.ResourceService/Get"} 1`)
			count := `_count{procedure="/kubeconnect.v1.ResourceService/Get"} 3` // without the unauthenticated one
			if lines := metricstest.Lines(t, s, "kubeconnect_call_duration_seconds"); lines[len(lines)-1] != count {
				t.Errorf("the durations are %v, want %s", lines, count)
			}
			metricstest.WantLines(t, s, "kubeconnect_streams")
		})
	}
}

func TestMetrics_CountOpenAndEndedStreams(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			s := newCountedService(t)
			clients := namedClientOf(s.service, options...)
			stream, err := clients.watchPods(t, "jane")
			if err != nil {
				t.Fatal(err)
			}
			_, err = clients.watchPods(t, "jane")
			statustest.WantOverLimit(t, err, "stream limit reached: 1 streams open")
			metricstest.WantLines(t, s, "kubeconnect_streams", `{procedure="/kubeconnect.v1.ResourceService/Watch"} 1`)
			metricstest.WantLines(t, s, "kubeconnect_limited_calls_total", `{limit="streams"} 1`)
			s.end(stream)
			metricstest.WantLines(t, s, "kubeconnect_streams", `{procedure="/kubeconnect.v1.ResourceService/Watch"} 0`)
			metricstest.WantLines(t, s, "kubeconnect_calls_total",
				`{code="resource_exhausted",procedure="/kubeconnect.v1.ResourceService/Watch"} 1`,
				`{code="unavailable",procedure="/kubeconnect.v1.ResourceService/Watch"} 1`)
			metricstest.WantLines(t, s, "kubeconnect_call_duration_seconds")
		})
	}
}

// The snapshot of two pods has four events.
func TestMetrics_CountSentEvents(t *testing.T) {
	s := newCountedService(t)
	stream, err := namedClientOf(s.service).watchPods(t, "jane")
	if err != nil {
		t.Fatal(err)
	}
	sent := len(stream.Msg().GetEvents())
	for sent < 4 && stream.Receive() {
		sent += len(stream.Msg().GetEvents())
	}
	s.api.Events <- servertest.Added(objecttest.Pod("c", 11))
	if !stream.Receive() || len(stream.Msg().GetEvents()) != 1 {
		t.Fatalf("returned %v, %v", stream.Msg(), stream.Err())
	}
	s.end(stream)
	metricstest.WantLines(t, s, "kubeconnect_sent_events_total", `{resource="pods.v1"} 5`)
	delays := metricstest.Lines(t, s, "kubeconnect_watch_delay_seconds")
	if count := delays[len(delays)-1]; count != "_count 1" { // the change, and not the snapshot
		t.Errorf("the delays are %v", delays)
	}
}

// TestMetrics_RejectedStreamsAreKnownAsStreams has a gate reject the first stream of a service.
func TestMetrics_RejectedStreamsAreKnownAsStreams(t *testing.T) {
	s := newCountedService(t)
	if _, err := namedClientOf(s.service).watchPods(t, ""); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Fatalf("returned %v", err)
	}
	metricstest.WantLines(t, s, "kubeconnect_streams", `{procedure="/kubeconnect.v1.ResourceService/Watch"} 0`)
	metricstest.WantLines(t, s, "kubeconnect_call_duration_seconds")
}

func TestMetrics_DoNotCountUnknownMethods(t *testing.T) {
	s := newCountedService(t)
	for _, path := range []string{"/", "/nosuch", "/kubeconnect.v1.ResourceService/Made.Up", "/made.up.Service/Get", "/livez"} {
		fetch(t, s.service, path)
		_ = s.client(connecthttp.WithGRPC()).CallUnary(as(t.Context(), "jane"), connect.Spec{Procedure: path},
			&kubeconnectv1.GetRequest{}, &kubeconnectv1.GetResponse{})
	}
	metricstest.WantLines(t, s, "kubeconnect_calls_total")
	metricstest.WantLines(t, s, "kubeconnect_call_duration_seconds")
	metricstest.WantLines(t, s, "kubeconnect_streams")
}

// TestMetrics_CountCallsAndBytesByResource names resources as callers do.
func TestMetrics_CountCallsAndBytesByResource(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			s := newCountedService(t)
			clients := namedClientOf(s.service, options...)
			for _, resource := range []string{"pods", "Pod", "nosuch", `"} 1`} {
				_, _ = clients.Get(as(t.Context(), "jane"), &kubeconnectv1.GetRequest{Resource: resource, Namespace: "default", Name: "a"})
			}
			const get, watch = `{procedure="/kubeconnect.v1.ResourceService/Get"`, `{procedure="/kubeconnect.v1.ResourceService/Watch"`
			metricstest.WantLines(t, s, "kubeconnect_resource_calls_total",
				get+`,resource=""} 2`, get+`,resource="pods.v1"} 2`)
			if _, err := clients.watchPods(t, "jane"); err != nil {
				t.Fatal(err)
			}
			counted := map[string]bool{}
			for _, line := range metricstest.Lines(t, s, "kubeconnect_sent_bytes_total") {
				series, bytes, _ := strings.Cut(line, "} ")
				counted[series] = bytes != "0"
			}
			for _, series := range []string{get + `,resource="pods.v1"`, watch + `,resource="pods.v1"`} {
				if !counted[series] {
					t.Errorf("no bytes are counted for %s: %v", series, counted)
				}
			}
		})
	}
}

// TestMetrics_CountTheResourceOfEachPart follows several resources on one stream, one of them not served.
func TestMetrics_CountTheResourceOfEachPart(t *testing.T) {
	metrics := observe.NewMetrics()
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}, Metrics: metrics}, Authorizer: everything()})
	stream, err := responses.Of(s.resources.WatchMany(t.Context(), &kubeconnectv1.WatchManyRequest{
		Independent: true,
		Watches:     []*kubeconnectv1.WatchSpec{{Resource: "pods"}, {Resource: "nosuch"}, {Resource: "pod", Namespace: "default"}},
		Counts:      []*kubeconnectv1.WatchCountsRequest{{Resource: "Pod"}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for answered := map[int32]bool{}; len(answered) < 4 && stream.Receive(); {
		answered[stream.Msg().GetWatchIndex()] = true
	}
	s.stop()
	for stream.Receive() {
	}
	_ = stream.Close()
	const many = `{procedure="/kubeconnect.v1.ResourceService/WatchMany"`
	metricstest.WantLines(t, metrics, "kubeconnect_resource_calls_total", many+`,resource=""} 1`, many+`,resource="pods.v1"} 3`)
	var sent []string
	for _, line := range metricstest.Lines(t, metrics, "kubeconnect_sent_bytes_total") {
		series, bytes, _ := strings.Cut(line, "} ")
		if bytes == "0" {
			t.Errorf("no bytes are counted for %s", series)
		}
		sent = append(sent, series)
	}
	if want := []string{many + `,resource=""`, many + `,resource="pods.v1"`}; !slices.Equal(sent, want) {
		t.Errorf("bytes are counted for %v, want %v", sent, want)
	}
}
