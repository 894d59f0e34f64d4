package server

import (
	"cmp"
	"net/http"
	"time"

	"connectrpc.com/grpcreflect"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// Config configures a server. All fields but Lacking, LogClients, Recheck, Reviews, Streams and TokenGeneration are
// required.
type Config struct {
	// Edge configures what every call passes. Its Metrics and Usage are optional here: by default they are not exported.
	Edge edge.Config
	Hub  *informerhub.Hub
	// Authorizer decides what callers can read. The kubeconfig's user is not reviewed. Without an
	// Authorizer, nobody else can read anything.
	Authorizer access.Authorizer
	// Recheck is the interval at which the caller and the permissions of an open stream are
	// re-checked, in addition to when a change of permissions is seen. Default: 10 s.
	Recheck time.Duration
	Clients *auth.ClientFactory
	// LogClients read logs. Default: Clients.
	LogClients *auth.ClientFactory
	Readiness  *health.Readiness
	// Lacking returns an error that names the permissions that the service lacks to serve any call;
	// nil if there are none. A nil function disables the check.
	Lacking func() error
	// Reviews returns an error that describes why the API server answers no reviews of callers, or nil.
	// Default: it always does.
	Reviews func() error
	// TokenGeneration is part of every resume token: a token of another generation leads to a
	// snapshot. All replicas must have the same value. Default: none.
	TokenGeneration string
	// Streams are the open watches. Default: streams without a maximum age.
	Streams *streamlife.Streams
	// Console handles the page at "/".
	Console http.Handler
}

// New returns the handler of everything that the service serves.
func New(config Config) http.Handler {
	config.Edge.Metrics = cmp.Or(config.Edge.Metrics, observe.NewMetrics())
	config.Edge.Usage = cmp.Or(config.Edge.Usage, observe.NewUsage())
	chain := edge.NewChain(config.Edge)
	options := chain.Options()
	mux := http.NewServeMux()
	handlers := newHandlers(config, chain.Callers, chain.Kept)
	resourceService, resourceHandler := kubeconnectv1connect.NewResourceServiceHandler(handlers.resources, options)
	responses := budget.NewResponses(config.Edge.Limits, config.Edge.Metrics)
	mux.Handle(responses.Handle(resourceService, resourceHandler))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchProcedure, streamlife.CoalesceWrites(resourceHandler, streamlife.WatchUnreadTimeout))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchManyProcedure, streamlife.CoalesceWrites(resourceHandler, streamlife.WatchUnreadTimeout))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchCountsProcedure, streamlife.CoalesceWrites(resourceHandler, streamlife.WatchUnreadTimeout))
	mux.Handle(responses.Handle(kubeconnectv1connect.NewDiscoveryServiceHandler(handlers.discovery, options)))
	mux.Handle(responses.Handle(kubeconnectv1connect.NewAccessServiceHandler(handlers.access, options)))
	podService, podHandler := kubeconnectv1connect.NewPodServiceHandler(handlers.pods, options)
	// The container's node throttles a log that is read slowly.
	mux.Handle(podService, streamlife.CoalesceWrites(podHandler, streamlife.UnreadTimeout{}))
	reflector := grpcreflect.NewStaticReflector(append(serviceNames(), grpc_health_v1.Health_ServiceDesc.ServiceName)...)
	mux.Handle(grpcreflect.NewHandlerV1(reflector, options))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector, options))
	chain.HandleHealth(mux, config.Readiness, health.Upstream{Freshness: config.Hub.Freshness, Lacking: config.Lacking, Reviews: config.Reviews}, serviceNames())
	mux.Handle("/", config.Console)
	return chain.Handler(mux)
}

func serviceNames() []string {
	return []string{
		kubeconnectv1connect.ResourceServiceName,
		kubeconnectv1connect.DiscoveryServiceName,
		kubeconnectv1connect.AccessServiceName,
		kubeconnectv1connect.PodServiceName,
	}
}
