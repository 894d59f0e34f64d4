package health

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect/v2"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// upstreamService is the service name under which grpc.health.v1.Health reports whether the served
// data is current, the service has the permissions that every call needs, and the API server answers
// reviews of callers. It is separate from
// readiness: a replica that cannot reach the API server still serves its last state, marked as
// stale, and removing all replicas at once would not help.
const upstreamService = "kubeconnect.upstream"

// upstreamInterval is the interval at which a watch of the upstream's health checks it.
const upstreamInterval = time.Second

// Handle serves /livez, /readyz, /upstreamz and grpc.health.v1.Health, without
// authentication, because they reveal nothing about the cluster.
func Handle(mux *http.ServeMux, server *connect.Server, readiness *Readiness, upstream Upstream, services []string) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ready, _ := readiness.Current(); !ready {
			http.Error(w, "not ready: the API server is unreachable, the snapshots to preload are not complete, permissions are missing, "+
				"or the service is shutting down; a line \"not ready\" of its log has the cause",
				http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /upstreamz", func(w http.ResponseWriter, _ *http.Request) {
		if err := upstream.check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	h := service{readiness, upstream, services}
	server.Register(
		connect.Method{Spec: connect.Spec{StreamType: connect.StreamTypeUnary, Procedure: healthv1.Health_Check_FullMethodName}, Handler: h.serveCheck},
		connect.Method{Spec: connect.Spec{StreamType: connect.StreamTypeServer, Procedure: healthv1.Health_Watch_FullMethodName}, Handler: h.serveWatch},
	)
}

// service implements grpc.health.v1.Health.
type service struct {
	readiness *Readiness
	upstream  Upstream
	services  []string // the names of the services whose health is that of readiness
}

// Upstream checks whether the API server is reachable, allows the service to serve calls, and
// answers reviews of their callers.
type Upstream struct {
	Freshness func() informerhub.Freshness
	Lacking   func() error // nil: permissions are not checked
	Reviews   func() error // whether the API server answers reviews of callers; nil: there are none
}

// check returns an error that describes the fault, or nil.
func (u Upstream) check() error {
	for _, check := range []func() error{u.Lacking, u.Reviews} {
		if check == nil {
			continue
		}
		if err := check(); err != nil {
			return err
		}
	}
	if fresh := u.Freshness(); fresh.Stale {
		return fmt.Errorf("stale: last contact with the API server at %s", fresh.LastContact.UTC().Format(time.RFC3339))
	}
	return nil
}

func (h service) serveCheck(ctx context.Context, _ connect.Spec, stream connect.ServerStream) error {
	var request healthv1.HealthCheckRequest
	if err := stream.Receive(&request); err != nil {
		return err
	}
	response, err := h.check(ctx, &request)
	if err != nil {
		return err
	}
	return stream.Send(response)
}

func (h service) serveWatch(ctx context.Context, _ connect.Spec, stream connect.ServerStream) error {
	var request healthv1.HealthCheckRequest
	if err := stream.Receive(&request); err != nil {
		return err
	}
	return h.watch(ctx, &request, stream)
}

func (h service) check(_ context.Context, request *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if !h.serves(request.GetService()) {
		return nil, connect.Errorf(connect.CodeNotFound, "unknown service %q", request.GetService())
	}
	if request.GetService() == upstreamService {
		return &healthv1.HealthCheckResponse{Status: servingStatus(h.upstream.check() == nil)}, nil
	}
	ready, _ := h.readiness.Current()
	return &healthv1.HealthCheckResponse{Status: servingStatus(ready)}, nil
}

func (h service) watch(ctx context.Context, request *healthv1.HealthCheckRequest, stream connect.ServerStream) error {
	if !h.serves(request.GetService()) {
		// The protocol has a status for this, and keeps the stream open.
		response := &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVICE_UNKNOWN}
		if err := stream.Send(response); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if request.GetService() == upstreamService {
		return h.watchUpstream(ctx, stream)
	}
	for {
		ready, changed := h.readiness.Current()
		if err := stream.Send(&healthv1.HealthCheckResponse{Status: servingStatus(ready)}); err != nil {
			return err
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		}
		select {
		case <-changed: // report the shutdown before the stream ends
			_ = stream.Send(&healthv1.HealthCheckResponse{Status: servingStatus(false)})
		default:
		}
		return context.Cause(ctx)
	}
}

// watchUpstream sends the health of the upstream, now and at each change.
func (h service) watchUpstream(ctx context.Context, stream connect.ServerStream) error {
	look := time.NewTicker(upstreamInterval)
	defer look.Stop()
	for sent := healthv1.HealthCheckResponse_UNKNOWN; ; {
		if status := servingStatus(h.upstream.check() == nil); status != sent {
			sent = status
			if err := stream.Send(&healthv1.HealthCheckResponse{Status: status}); err != nil {
				return err
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func servingStatus(ready bool) healthv1.HealthCheckResponse_ServingStatus {
	if ready {
		return healthv1.HealthCheckResponse_SERVING
	}
	return healthv1.HealthCheckResponse_NOT_SERVING
}

func (h service) serves(name string) bool {
	return name == "" || name == upstreamService || slices.Contains(h.services, name)
}
