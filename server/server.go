package server

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/grpcreflect/v2"
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
	"github.com/kubeconnect/kubeconnect/server/kubeapi"
)

// Config configures a server. All fields but KubeAPI, Lacking, LogClients, Recheck, Reviews, Streams and TokenGeneration are
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
	// LogClients read logs, and pass on requests of Kubernetes' own API: what the API server can send ahead of a client that does not read
	// is small. Default: Clients.
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
	// KubeAPI is what is served of Kubernetes' own API. Default: nothing.
	KubeAPI kubeapi.Mode
}

// New returns the handler of everything that the service serves.
func New(config Config) http.Handler {
	config.Edge.Metrics = cmp.Or(config.Edge.Metrics, observe.NewMetrics())
	config.Edge.Usage = cmp.Or(config.Edge.Usage, observe.NewUsage())
	chain := edge.NewChain(config.Edge)
	server, mux := chain.NewServer(), http.NewServeMux()
	config.Streams = cmp.Or(config.Streams, streamlife.NewStreams(0))
	handlers := newHandlers(config, chain.Callers, chain.Kept)
	handlers.register(server)
	grpcreflect.Register(server, grpcreflect.WithNamer(grpcreflect.NamerFunc(func() []string {
		return append(serviceNames(), grpc_health_v1.Health_ServiceDesc.ServiceName)
	})))
	upstream := health.Upstream{Freshness: config.Hub.Freshness, Lacking: config.Lacking, Reviews: config.Reviews}
	health.Handle(mux, server, config.Readiness, upstream, serviceNames())
	responses := budget.NewResponses(config.Edge.Limits, config.Edge.Metrics)
	chain.Mount(mux, server, writersOf(responses))
	mux.Handle("/", withoutProcedures(config.Console))
	return chain.Handler(mux, handlers.kubernetes(config, chain, responses))
}

// withoutProcedures returns the handler of the console, which does not exist for calls of services that this version does not
// have: clients take that for the code unimplemented.
func withoutProcedures(console http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if r.Method == http.MethodPost && ok && strings.Contains(service, ".") && !strings.Contains(method, "/") {
			http.NotFound(w, r)
			return
		}
		console.ServeHTTP(w, r)
	})
}

// writersOf returns a function that wraps the handler of a procedure with what bounds the writing of its responses.
func writersOf(responses *budget.Responses) func(procedure string, handler http.Handler) http.Handler {
	return func(procedure string, handler http.Handler) http.Handler {
		service, _, _ := strings.Cut(procedure[1:], "/")
		switch {
		case procedure == kubeconnectv1connect.ResourceServiceWatchProcedure,
			procedure == kubeconnectv1connect.ResourceServiceWatchManyProcedure,
			procedure == kubeconnectv1connect.ResourceServiceWatchCountsProcedure:
			return streamlife.CoalesceWrites(handler, streamlife.WatchUnreadTimeout)
		case service == kubeconnectv1connect.PodServiceName:
			// The container's node throttles a log that is read slowly.
			return streamlife.CoalesceWrites(handler, streamlife.UnreadTimeout{})
		case slices.Contains(serviceNames(), service):
			return responses.Serve(handler)
		}
		return handler
	}
}

func serviceNames() []string {
	return []string{
		kubeconnectv1connect.ResourceServiceName,
		kubeconnectv1connect.DiscoveryServiceName,
		kubeconnectv1connect.AccessServiceName,
		kubeconnectv1connect.PodServiceName,
	}
}
