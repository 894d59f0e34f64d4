package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/audit"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/conditional"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/origins"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// Config configures a chain. Authenticator, Metrics, Usage and OnShutdown are required.
type Config struct {
	Authenticator auth.Authenticator
	Limits        gate.Limits // of each caller that Authenticator distinguishes
	Metrics       *observe.Metrics
	Compression   Compression
	// OnShutdown registers a function that is called once, in its own goroutine, when the service
	// begins to shut down, or at once if that has begun. It returns a function that removes it
	// again, as that of [context.AfterFunc] does. It is called concurrently.
	OnShutdown func(end func()) (remove func() bool)
	// CORSOrigins are the other origins whose pages are allowed to call.
	CORSOrigins []string
	// Usage records who uses the service.
	Usage *observe.Usage
	// LogSample is the part of the calls that is logged, in addition to changes and to calls that fail:
	// from 0 to 1.
	LogSample float64
	// Audit writes the audit log. Default: none.
	Audit *audit.Log
	// Replica is the name of this process in [call.ReplicaHeader]. Default: responses do not have it.
	Replica string
	// Adjuster changes Limits and LogSample later. Default: they are never changed.
	Adjuster *gate.Adjuster
	// Tracer begins the spans of calls. Default: none.
	Tracer trace.Tracer
	// BodyTimeout is the time within which a client must send its request. Default: 30 s.
	BodyTimeout time.Duration
	// KeptBytes is the memory that can be kept for open streams. Default: a part of the process's memory limit.
	KeptBytes int
}

// Chain is what each request passes, in this order: the bounds for unknown callers and for other
// sites' pages (Handler), and for each RPC a gate and the interceptors (NewServer).
type Chain struct {
	// Callers are the callers that the gate has admitted.
	Callers *gate.Callers
	// Kept is the memory that is kept for the streams of callers.
	Kept *ledger.Ledger

	config   Config
	entrance *gate.Entrance
	admit    connect.ServerInterceptor // outermost; has the slots of the calls
}

// NewChain returns a chain without calls.
func NewChain(config Config) *Chain {
	log := observe.NewCallLog(config.LogSample)
	chain := &Chain{
		Callers:  gate.NewCallers(config.Limits),
		Kept:     gate.NewKept(config.KeptBytes, config.Limits, config.Metrics, config.Usage),
		config:   config,
		entrance: gate.NewEntrance(config.BodyTimeout, log, config.Usage, config.Metrics),
	}
	config.Adjuster.Attach(chain.Callers, log)
	chain.admit = chain.admission()
	return chain
}

// Handler returns the handler of all requests. next must have the console at "/". kubernetes is the handler of Kubernetes' own API,
// whose paths are not redirected to cleaner ones.
func (c *Chain) Handler(next *http.ServeMux, kubernetes http.Handler) http.Handler {
	pages, api := origins.SameSite(c.config.CORSOrigins, next), origins.API(c.config.CORSOrigins, kubernetes)
	return c.entrance.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bounds.IsKubernetesPath(r.URL.Path) {
			api.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	}))
}

// NewServer returns a server without services, whose calls pass a gate and the interceptors.
func (c *Chain) NewServer() *connect.Server {
	interceptors := []connect.ServerInterceptor{
		c.admit,
		c.config.Metrics.CountCalls,
		c.mapErrors,
		streamlife.CancelOnShutdown(c.config.OnShutdown),
		conditional.Reads,
		gate.ChargeRequests,
	}
	if c.config.Audit != nil {
		interceptors = append(interceptors, c.config.Audit.Streams)
	}
	if c.config.Tracer != nil {
		interceptors = append(interceptors, call.TraceStreams)
	}
	return connect.NewServer(interceptors...)
}

// Mount has mux serve each procedure of a server, by the handler that wrap returns for it. From there on a request is a call,
// which is counted and audited also if connect cannot read it. An unknown procedure of a service does not exist, instead of being a call.
func (c *Chain) Mount(mux *http.ServeMux, server *connect.Server, wrap func(procedure string, handler http.Handler) http.Handler) {
	begin := func(procedure string, handler http.Handler) http.Handler {
		handler = wrap(procedure, handler)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.config.Metrics.Begin(call.From(r.Context()), procedure)
			c.config.Audit.Begin(call.From(r.Context()))
			handler.ServeHTTP(w, r)
		})
	}
	connecthttp.Mount(procedures{mux, begin}, server, c.config.Compression.options(), connecthttp.WithConditionalOptions(bounds.Options))
}

// procedures implements connecthttp.ServeMux; see Mount.
type procedures struct {
	mux  *http.ServeMux
	wrap func(procedure string, handler http.Handler) http.Handler
}

// Handle implements connecthttp.ServeMux. The pattern is a procedure, or a service followed by a slash.
func (p procedures) Handle(pattern string, handler http.Handler) {
	switch {
	case !strings.HasSuffix(pattern, "/"):
		p.mux.Handle(pattern, p.wrap(pattern, handler))
	case !bounds.IsHealth(pattern):
		p.mux.Handle(pattern, http.NotFoundHandler())
	}
}

// admission returns the outermost interceptor: a gate for calls of health, which nobody authenticates for, and one
// for all others.
func (c *Chain) admission() connect.ServerInterceptor {
	ofHealth := gate.NewHealth(c.entrance)
	ofCalls := gate.New(c.entrance, gate.Config{
		Authenticator: c.config.Authenticator,
		Callers:       c.Callers,
		Limits:        c.config.Limits,
		Kept:          c.Kept,
		Replica:       c.config.Replica,
		Tracer:        c.config.Tracer,
	})
	return func(next connect.ServerFunc) connect.ServerFunc {
		admitsCall, admitsHealth := ofCalls.Admit(next), ofHealth.Admit(next)
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			if info, ok := connect.CallInfoForServerContext(ctx); ok {
				*info.RequestHeader() = connect.Header{} // a copy, which nobody reads and a stream would keep
			}
			if bounds.IsHealth(spec.Procedure) {
				return admitsHealth(ctx, spec, stream)
			}
			return admitsCall(ctx, spec, stream)
		}
	}
}

// mapErrors is the interceptor that maps every error that leaves a handler to its Connect code and, for errors of
// the cluster and of a request that cannot be read, a kubeconnect.v1.Status.
func (c *Chain) mapErrors(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		err := next(ctx, spec, readStream{stream})
		c.config.Metrics.Limited(err)
		return callerrors.ConnectError(err)
	}
}

// readStream returns the errors of requests that cannot be read as errors of the client.
type readStream struct{ connect.ServerStream }

// Receive implements connect.ServerStream.
func (s readStream) Receive(message any) error {
	return callerrors.OfRequest(s.ServerStream.Receive(message))
}
