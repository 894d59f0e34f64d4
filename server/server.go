package server

import (
	"cmp"
	"net/http"
	"time"

	"connectrpc.com/grpcreflect"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge"
)

// Config configures a server. All fields but Adjuster, Compression, CORSOrigins, Lacking, Limits, LogClients,
// LogSample, Metrics, Recheck, Replica, Reviews, Streams, TokenGeneration, Tracer and Usage are required.
type Config struct {
	Hub           *informerhub.Hub
	Authenticator auth.Authenticator
	// Authorizer decides what callers can read. The kubeconfig's user is not reviewed. Without an
	// Authorizer, nobody else can read anything.
	Authorizer access.Authorizer
	// Recheck is the interval at which the caller and the permissions of an open stream are
	// re-checked, in addition to when a change of permissions is seen. Default: 10 s.
	Recheck time.Duration
	Clients *auth.ClientFactory
	// LogClients read logs. Default: Clients.
	LogClients *auth.ClientFactory
	Readiness  *edge.Readiness
	// Lacking returns an error that names the permissions that the service lacks to serve any call;
	// nil if there are none. A nil function disables the check.
	Lacking func() error
	// Reviews returns an error that describes why the API server answers no reviews of callers, or nil.
	// Default: it always does.
	Reviews func() error
	// TokenGeneration is part of every resume token: a token of another generation leads to a
	// snapshot. All replicas must have the same value. Default: none.
	TokenGeneration string
	// Compression is the compression of unary responses. Default: CompressNone.
	Compression edge.Compression
	// Streams are the open watches. Default: streams without a maximum age.
	Streams *edge.Streams
	// Limits are the limits of each caller that Authenticator distinguishes.
	Limits edge.Limits
	// Metrics counts the calls. Default: metrics that are not exported.
	Metrics *edge.Metrics
	// Console handles the page at "/".
	Console http.Handler
	// LogSample is the part of the calls that is logged, in addition to changes and to calls that fail:
	// from 0 to 1. Default: none.
	LogSample float64
	// Usage records who uses the service. Default: nobody reads it.
	Usage *edge.Usage
	// Adjuster changes Limits and LogSample later. Default: they are never changed.
	Adjuster *edge.Adjuster
	// Tracer begins the spans of calls. Default: none.
	Tracer trace.Tracer
	// Replica is the name of this process in [edge.ReplicaHeader]. Default: responses do not have it.
	Replica string
	// OnShutdown registers a function that is called when the service begins to shut down; see
	// [edge.ChainConfig]. Open streams then end with UNAVAILABLE, while other calls may finish.
	OnShutdown func(end func()) (remove func() bool)
	// CORSOrigins are the other origins whose pages are allowed to call. See [CORS].
	CORSOrigins []string

	bodyPatience time.Duration // overrides that of edge in tests
	keptBytes    int           // overrides that of edge in tests
}

// New returns the handler of everything that the service serves.
func New(config Config) http.Handler {
	config.Metrics = cmp.Or(config.Metrics, edge.NewMetrics())
	config.Usage = cmp.Or(config.Usage, edge.NewUsage())
	chain := edge.NewChain(edge.ChainConfig{
		Authenticator: config.Authenticator,
		Limits:        config.Limits,
		Metrics:       config.Metrics,
		Compression:   config.Compression,
		OnShutdown:    config.OnShutdown,
		CORSOrigins:   config.CORSOrigins,
		LogSample:     config.LogSample,
		Usage:         config.Usage,
		Adjuster:      config.Adjuster,
		Replica:       config.Replica,
		Tracer:        config.Tracer,
		BodyPatience:  config.bodyPatience,
		KeptBytes:     config.keptBytes,
	})
	options := chain.Options()
	mux := http.NewServeMux()
	handlers := newHandlers(config, chain.Callers, chain.Kept)
	resourceService, resourceHandler := kubeconnectv1connect.NewResourceServiceHandler(handlers.resources, options)
	responses := budget.NewResponses(config.Limits, config.Metrics)
	mux.Handle(responses.Handle(resourceService, resourceHandler))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchProcedure, edge.CoalesceWrites(resourceHandler, edge.WatchPatience))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchManyProcedure, edge.CoalesceWrites(resourceHandler, edge.WatchPatience))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchCountsProcedure, edge.CoalesceWrites(resourceHandler, edge.WatchPatience))
	mux.Handle(responses.Handle(kubeconnectv1connect.NewDiscoveryServiceHandler(handlers.discovery, options)))
	mux.Handle(responses.Handle(kubeconnectv1connect.NewAccessServiceHandler(handlers.access, options)))
	podService, podHandler := kubeconnectv1connect.NewPodServiceHandler(handlers.pods, options)
	// The container's node throttles a log that is read slowly.
	mux.Handle(podService, edge.CoalesceWrites(podHandler, edge.Patience{}))
	reflector := grpcreflect.NewStaticReflector(append(serviceNames(), grpc_health_v1.Health_ServiceDesc.ServiceName)...)
	mux.Handle(grpcreflect.NewHandlerV1(reflector, options))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector, options))
	chain.HandleHealth(mux, config.Readiness, edge.UpstreamHealth{Freshness: config.Hub.Freshness, Lacking: config.Lacking, Reviews: config.Reviews}, serviceNames())
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
