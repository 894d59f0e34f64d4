package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

const (
	// bookmarkInterval is how long a watch may be quiet: less than the time after
	// which proxies cut a silent stream.
	bookmarkInterval = 5 * time.Second
	// patience is how long a read waits for a cache that is behind the version which
	// it must see, or which a resume token was given out at.
	patience = 5 * time.Second
	// bodyPatience is how long a client may take to send a request.
	bodyPatience = 30 * time.Second
)

// Config is what a server is made of. All fields but Compression, CORSOrigins, Limits,
// LogClients, Metrics, Recheck, Streams and TokenGeneration are required.
type Config struct {
	Hub           *informerhub.Hub
	Authenticator auth.Authenticator
	// Authorizer says what callers may read. The kubeconfig's user is not asked about;
	// without an Authorizer, nobody else may read anything.
	Authorizer Authorizer
	// Recheck is how often the caller and the rights of a stream are looked at while
	// it runs, beside when rights are seen to change. Default: 10 s.
	Recheck time.Duration
	Clients *auth.ClientFactory
	// LogClients read logs. Default: Clients.
	LogClients *auth.ClientFactory
	Readiness  *Readiness
	// Lacking says which permissions the service lacks to answer any call; nil if none. Without
	// the function none are looked at.
	Lacking func() error
	// TokenGeneration is part of every resume token: one of another generation begins with a
	// snapshot. All replicas must have the same. Default: none.
	TokenGeneration string
	// Compression is that of unary answers. Default: CompressNone.
	Compression Compression
	// Streams are the watches that are open. Default: some that last for ever.
	Streams *Streams
	// Limits are for each caller whom Authenticator tells apart.
	Limits Limits
	// Metrics counts what is served. Default: some that nobody sees.
	Metrics *Metrics
	// Console is the page served at "/".
	Console http.Handler
	// Stopping ends when the service begins to end: then open streams end with
	// UNAVAILABLE, while other calls may finish.
	Stopping context.Context
	// CORSOrigins are the other origins whose pages may call. See [CORS].
	CORSOrigins []string

	bodyPatience time.Duration // other than the constant, in tests
}

// New makes the handler of everything that the service serves.
func New(config Config) http.Handler {
	config.Metrics = cmp.Or(config.Metrics, NewMetrics())
	callers, entrance := newCallers(config.Limits), newEntrance(cmp.Or(config.bodyPatience, bodyPatience))
	gate := &gate{
		entrance:      entrance,
		authenticator: config.Authenticator,
		metrics:       config.Metrics,
		callers:       callers,
		calls:         newCallQueue(config.Limits.Calls),
		requests:      newRequestQueue(),
		processors:    newProcessors(),
	}
	options := connect.WithHandlerOptions(
		connect.WithRequestGate(gate.admit),
		config.Compression.options(),
		connect.WithInterceptors(countCalls{config.Metrics}, mapErrors{}, endStreams{config.Stopping}),
		connect.WithConditionalHandlerOptions(boundRequests),
	)
	mux := http.NewServeMux()
	resources := newResources(config, callers)
	resourceService, resourceHandler := kubeconnectv1connect.NewResourceServiceHandler(resources, options)
	answers := resources.answers
	mux.Handle(answers.at(resourceService, resourceHandler))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchProcedure, wholeMessages(resourceHandler, watchPatience))
	mux.Handle(kubeconnectv1connect.ResourceServiceWatchManyProcedure, wholeMessages(resourceHandler, watchPatience))
	mux.Handle(answers.at(kubeconnectv1connect.NewDiscoveryServiceHandler(&discovery{resources}, options)))
	mux.Handle(answers.at(kubeconnectv1connect.NewAccessServiceHandler(
		&access{resources: resources, clients: config.Clients}, options)))
	podService, podHandler := kubeconnectv1connect.NewPodServiceHandler(pods{resources, cmp.Or(config.LogClients, config.Clients)}, options)
	mux.Handle(podService, wholeMessages(podHandler, readPatience{})) // a log that is read slowly is held back at its node
	reflector := grpcreflect.NewStaticReflector(append(serviceNames(), grpc_health_v1.Health_ServiceDesc.ServiceName)...)
	mux.Handle(grpcreflect.NewHandlerV1(reflector, options))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector, options))
	handleHealth(mux, config.Readiness, upstreamHealth{config.Hub.Freshness, config.Lacking}, connect.WithHandlerOptions(
		connect.WithRequestGate((&healthGate{entrance, config.Metrics, newHealthWatches()}).admit),
		connect.WithReadMaxBytes(maxHealthRequestBytes),
		withoutCompression,
		connect.WithInterceptors(countCalls{config.Metrics}, mapErrors{}, endStreams{config.Stopping}),
	))
	mux.Handle("/", config.Console)
	return entrance.handler(sameSite(config.CORSOrigins, mux))
}

func serviceNames() []string {
	return []string{
		kubeconnectv1connect.ResourceServiceName,
		kubeconnectv1connect.DiscoveryServiceName,
		kubeconnectv1connect.AccessServiceName,
		kubeconnectv1connect.PodServiceName,
	}
}
