package server

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

const (
	serving    = healthv1.HealthCheckResponse_SERVING
	notServing = healthv1.HealthCheckResponse_NOT_SERVING
)

// checkHealth calls Check of a service.
func checkHealth(t *testing.T, s *service, name string) (*healthv1.HealthCheckResponse, error) {
	t.Helper()
	response := &healthv1.HealthCheckResponse{}
	err := s.client(connecthttp.WithGRPC()).CallUnary(t.Context(), connect.Spec{Procedure: healthv1.Health_Check_FullMethodName},
		&healthv1.HealthCheckRequest{Service: name}, response)
	return response, err
}

// TestHealth_NeedsNoIdentity calls a service that authenticates no caller.
func TestHealth_NeedsNoIdentity(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
	for _, ready := range []bool{false, true, false} {
		s.readiness.Set(ready)
		for _, name := range append(serviceNames(), "") {
			answer, err := checkHealth(t, s, name)
			if err != nil || answer.GetStatus() != servingOf(ready) {
				t.Errorf("ready: %v, %q: %v, %v", ready, name, answer, err)
			}
		}
		status, _ := fetch(t, s, "/readyz")
		if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[ready]; status != want {
			t.Errorf("ready: %v, /readyz returned %d", ready, status)
		}
		if status, _ := fetch(t, s, "/livez"); status != http.StatusOK {
			t.Errorf("ready: %v, /livez returned %d", ready, status)
		}
	}
}

func TestHealth_UnknownServicesAreNotFound(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	_, err := checkHealth(t, s, "nosuch")
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("returned %v", err)
	}
}

func TestHealth_RejectsLargeRequests(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
	large := string(make([]byte, 4<<10+1))
	if _, err := checkHealth(t, s, large); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("Check returned %v", err)
	}
	stream := watchHealth(t.Context(), t, s, large)
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeResourceExhausted {
		t.Errorf("Watch returned %v, %v", stream.Msg(), stream.Err())
	}
}

func watchHealth(ctx context.Context, t *testing.T, s *service, name string) *responses.Stream[healthv1.HealthCheckResponse] {
	t.Helper()
	spec := connect.Spec{Procedure: healthv1.Health_Watch_FullMethodName, StreamType: connect.StreamTypeServer}
	opened, err := s.client(connecthttp.WithGRPC()).CallServerStream(ctx, spec, &healthv1.HealthCheckRequest{Service: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	stream, _ := responses.Of(healthStream{opened}, nil)
	return stream
}

// healthStream is a stream of a service without a generated client.
type healthStream struct{ connect.ClientStream }

// Receive implements responses.Receiver.
func (s healthStream) Receive() (*healthv1.HealthCheckResponse, error) {
	response := &healthv1.HealthCheckResponse{}
	return response, s.ClientStream.Receive(response)
}

// TestHealth_OpenWatchesKeepNoHeaders opens watches with short and with long headers: nobody is authenticated, so nobody
// could be charged for them.
func TestHealth_OpenWatchesKeepNoHeaders(t *testing.T) {
	const watches, length = 10, 24 << 10
	s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
	kept := func(header string) int64 {
		before := heap()
		for range watches {
			ctx, call := connect.NewClientContext(t.Context())
			call.RequestHeader().Set("Unused", header)
			if stream := watchHealth(ctx, t, s, ""); !stream.Receive() {
				t.Fatal(stream.Err())
			}
		}
		return heap() - before
	}
	header := strings.Repeat("a", length)
	kept(header) // with the buffers of the connection
	// What other tests have left is freed at any time: headers that were kept would be more in each attempt.
	var short, long int64
	for range 5 {
		if short, long = kept("short"), kept(header); long-short <= watches*length/4 {
			return
		}
	}
	t.Errorf("%d watches keep %d bytes, and %d with long headers", watches, short, long)
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestHealth_WatchSendsChangesAndEndsWithTheService(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
	stream := watchHealth(t.Context(), t, s, "")
	for _, want := range []healthv1.HealthCheckResponse_ServingStatus{notServing, serving, notServing} {
		s.readiness.Set(want == serving)
		if !stream.Receive() || stream.Msg().GetStatus() != want {
			t.Fatalf("sent %v, %v; want %v", stream.Msg(), stream.Err(), want)
		}
	}
	s.stop()
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeUnavailable {
		t.Errorf("ends with %v, %v", stream.Msg(), stream.Err())
	}
}

// TestHealth_WatchSendsNotServingBeforeItEnds ends both at the same time.
func TestHealth_WatchSendsNotServingBeforeItEnds(t *testing.T) {
	for range 20 {
		s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
		s.readiness.Set(true)
		stream := watchHealth(t.Context(), t, s, "")
		if !stream.Receive() || stream.Msg().GetStatus() != serving {
			t.Fatalf("sent %v, %v", stream.Msg(), stream.Err())
		}
		s.readiness.Set(false)
		s.stop()
		if !stream.Receive() || stream.Msg().GetStatus() != notServing {
			t.Fatalf("sent %v, %v", stream.Msg(), stream.Err())
		}
	}
}

func TestHealth_WatchOfUnknownServicesStaysOpen(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
	ctx, cancel := context.WithCancel(t.Context())
	stream := watchHealth(ctx, t, s, "nosuch")
	if !stream.Receive() || stream.Msg().GetStatus() != healthv1.HealthCheckResponse_SERVICE_UNKNOWN {
		t.Fatalf("sent %v, %v", stream.Msg(), stream.Err())
	}
	cancel()
	if stream.Receive() {
		t.Errorf("continues with %v", stream.Msg())
	}
}

// TestUpstreamHealth_ReportsFailingReviews has reviews that fail for a while.
func TestUpstreamHealth_ReportsFailingReviews(t *testing.T) {
	var failing error
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: &auth.ClusterAuthenticator{}}, Reviews: func() error { return failing }})
	for _, failing = range []error{nil, errors.New("reviews have failed since noon: the API server returns InternalError"), nil} {
		want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[failing == nil]
		if status, body := fetch(t, s, "/upstreamz"); status != want || failing != nil && body != failing.Error()+"\n" {
			t.Errorf("%v: /upstreamz returned %d %q", failing, status, body)
		}
	}
}

func TestUpstreamHealth_ReportsMissingPermissions(t *testing.T) {
	var lacking error
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: &auth.ClusterAuthenticator{}}, Lacking: func() error { return lacking }})
	for _, lacking = range []error{nil, errors.New("the service's account may not ask"), nil} {
		want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[lacking == nil]
		if status, body := fetch(t, s, "/upstreamz"); status != want || lacking != nil && body != lacking.Error()+"\n" {
			t.Errorf("%v: /upstreamz returned %d %q", lacking, status, body)
		}
		answer, err := checkHealth(t, s, "kubeconnect.upstream")
		if err != nil || answer.GetStatus() != servingOf(lacking == nil) {
			t.Errorf("%v: %v, %v", lacking, answer, err)
		}
	}
}

// servingOf returns the status of a service that is or is not healthy.
func servingOf(healthy bool) healthv1.HealthCheckResponse_ServingStatus {
	if healthy {
		return healthv1.HealthCheckResponse_SERVING
	}
	return healthv1.HealthCheckResponse_NOT_SERVING
}

func TestHealth_WatchesOfOneAddressAreBounded(t *testing.T) {
	const maxWatches = 32 // from one network
	s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
	open := make([]interface{ Close() error }, 0, maxWatches)
	for i := range maxWatches {
		stream := watchHealth(t.Context(), t, s, "")
		if !stream.Receive() {
			t.Fatalf("watch %d ends with %v", i, stream.Err())
		}
		open = append(open, stream)
	}
	stream := watchHealth(t.Context(), t, s, "")
	if stream.Receive() {
		t.Error("one more is open")
	}
	statustest.WantOverLimit(t, stream.Err(), "watches of health")
	if status, _ := fetch(t, s, "/livez"); status != http.StatusOK {
		t.Errorf("/livez returned %d", status)
	}
	_ = open[0].Close()
	for { // until the service has seen the end
		stream := watchHealth(t.Context(), t, s, "")
		if stream.Receive() {
			return
		}
		if connect.CodeOf(stream.Err()) != connect.CodeResourceExhausted {
			t.Fatalf("after one has ended: %v", stream.Err())
		}
	}
}
