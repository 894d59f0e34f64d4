package server

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// byName identifies callers by a header.
var byName = authenticatorFunc(func(header http.Header) (auth.Identity, error) {
	return auth.Identity{Username: header.Get("Who")}, nil
})

func as[T any](who string, message *T) *connect.Request[T] {
	request := connect.NewRequest(message)
	request.Header().Set("Who", who)
	return request
}

// rawClients name their caller in each request.
type rawClients struct {
	get   *connect.Client[kubeconnectv1.GetRequest, kubeconnectv1.GetResponse]
	watch *connect.Client[kubeconnectv1.WatchRequest, kubeconnectv1.WatchResponse]
}

func rawClientsOf(s *service, options ...connect.ClientOption) rawClients {
	return rawClients{
		connect.NewClient[kubeconnectv1.GetRequest, kubeconnectv1.GetResponse](s.http, s.url+kubeconnectv1connect.ResourceServiceGetProcedure, options...),
		connect.NewClient[kubeconnectv1.WatchRequest, kubeconnectv1.WatchResponse](s.http, s.url+kubeconnectv1connect.ResourceServiceWatchProcedure, options...),
	}
}

func (c rawClients) getPod(t *testing.T, who string) error {
	t.Helper()
	_, err := c.get.CallUnary(t.Context(), as(who, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a"}))
	return err
}

// watchPods opens a watch and reads its first response.
func (c rawClients) watchPods(t *testing.T, who string) (*connect.ServerStreamForClient[kubeconnectv1.WatchResponse], error) {
	stream, err := c.watch.CallServerStream(t.Context(), as(who, &kubeconnectv1.WatchRequest{Resource: "pods"}))
	if err != nil {
		return nil, err
	}
	if stream.Receive() {
		return stream, nil
	}
	_ = stream.Close()
	return nil, stream.Err()
}

var protocols = map[string][]connect.ClientOption{"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()}}

func TestLimits_ErrorsNameTheLimitAndRetryTime(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			s := newLimitedService(t, servertest.PodsAPI(), byName, gate.Limits{Streams: 1, Rate: 1, Burst: 2})
			clients := rawClientsOf(s, options...)
			stream, err := clients.watchPods(t, "jane")
			if err != nil {
				t.Fatal(err)
			}
			_, err = clients.watchPods(t, "jane")
			statustest.WantOverLimit(t, err, "stream limit reached: 1 streams open")
			for err = nil; err == nil; err = clients.getPod(t, "jane") {
			}
			statustest.WantOverLimit(t, err, "rate limit reached: 1 calls a second")
			if err := clients.getPod(t, "joe"); err != nil {
				t.Errorf("another caller is rejected: %v", err)
			}
			if err := stream.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLimits_HoldForConcurrentStreams opens 200 streams at once, of which 150 are allowed. They
// share an existing connection, so that handshakes have no effect.
func TestLimits_HoldForConcurrentStreams(t *testing.T) {
	const storm, limit = 200, 150
	s := newLimitedService(t, servertest.PodsAPI(), byName, gate.Limits{Streams: limit, Rate: 1000, Burst: storm})
	clients := rawClientsOf(s, connect.WithGRPC())
	if err := clients.getPod(t, "joe"); err != nil {
		t.Fatal(err)
	}
	var opened, refused atomic.Int32
	var streams sync.Map
	var opening sync.WaitGroup
	for range storm {
		opening.Go(func() {
			stream, err := clients.watchPods(t, "jane")
			switch {
			case err == nil:
				opened.Add(1)
				streams.Store(stream, nil)
			case connect.CodeOf(err) == connect.CodeResourceExhausted:
				refused.Add(1)
			default:
				t.Errorf("neither opened nor rejected: %v", err)
			}
		})
	}
	opening.Wait()
	if opened.Load() != limit || refused.Load() != storm-limit {
		t.Errorf("%d are open, %d rejected", opened.Load(), refused.Load())
	}
	s.stop()
	streams.Range(func(stream, _ any) bool {
		_ = stream.(*connect.ServerStreamForClient[kubeconnectv1.WatchResponse]).Close()
		return true
	})
}

// TestLimits_DoNotApplyToProbes calls more often than the limit of callers.
func TestLimits_DoNotApplyToProbes(t *testing.T) {
	s := newLimitedService(t, servertest.PodsAPI(), byName, gate.Limits{Streams: 1, Rate: 1, Burst: 1})
	for range 10 {
		if status, _ := fetch(t, s, "/livez"); status != http.StatusOK {
			t.Fatalf("returned %d", status)
		}
		watchHealth(t.Context(), t, s, "").Receive()
	}
}
