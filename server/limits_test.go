package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// byName identifies callers by a header.
var byName = authenticatorFunc(func(header http.Header) (auth.Identity, error) {
	return auth.Identity{Username: header.Get("Who")}, nil
})

// as returns the context of a call of a caller.
func as(ctx context.Context, who string) context.Context {
	ctx, call := connect.NewClientContext(ctx)
	call.RequestHeader().Set("Who", who)
	return ctx
}

// namedClient names its caller in each request.
type namedClient struct {
	kubeconnectv1connect.ResourceServiceClient
}

func namedClientOf(s *service, options ...connecthttp.Option) namedClient {
	return namedClient{kubeconnectv1connect.NewResourceServiceClient(s.client(options...))}
}

func (c namedClient) getPod(t *testing.T, who string) error {
	t.Helper()
	_, err := c.Get(as(t.Context(), who), &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a"})
	return err
}

// watchPods opens a watch and reads its first response.
func (c namedClient) watchPods(t *testing.T, who string) (*responses.Stream[kubeconnectv1.WatchResponse], error) {
	stream, err := responses.Of(c.Watch(as(t.Context(), who), &kubeconnectv1.WatchRequest{Resource: "pods"}))
	if err != nil {
		return nil, err
	}
	if stream.Receive() {
		return stream, nil
	}
	_ = stream.Close()
	return nil, stream.Err()
}

var protocols = map[string][]connecthttp.Option{"Connect": nil, "gRPC": {connecthttp.WithGRPC()}, "gRPC-Web": {connecthttp.WithGRPCWeb()}}

func TestLimits_ErrorsNameTheLimitAndRetryTime(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			s := newLimitedService(t, servertest.PodsAPI(), byName, gate.Limits{Streams: 1, Rate: 1, Burst: 2})
			clients := namedClientOf(s, options...)
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
	clients := namedClientOf(s, connecthttp.WithGRPC())
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
		_ = stream.(*responses.Stream[kubeconnectv1.WatchResponse]).Close()
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
