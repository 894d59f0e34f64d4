package edge

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/trace"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/conditional"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
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
// sites' pages (Handler), and for each RPC a gate and the interceptors (Options).
type Chain struct {
	// Callers are the callers that the gate has admitted.
	Callers *gate.Callers
	// Kept is the memory that is kept for the streams of callers.
	Kept *ledger.Ledger

	config   Config
	entrance *gate.Entrance
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
	return chain
}

// Handler returns the handler of all requests. next must have the console at "/".
func (c *Chain) Handler(next *http.ServeMux) http.Handler {
	return c.entrance.Handler(origins.SameSite(c.config.CORSOrigins, next))
}

// Options returns the options of the handlers of RPCs. It must be called once, because the result has the
// slots of the calls.
func (c *Chain) Options() connect.HandlerOption {
	admission := gate.New(c.entrance, gate.Config{
		Authenticator: c.config.Authenticator,
		Callers:       c.Callers,
		Limits:        c.config.Limits,
		Kept:          c.Kept,
		Replica:       c.config.Replica,
		Tracer:        c.config.Tracer,
	})
	return connect.WithHandlerOptions(
		connect.WithRequestGate(admission.Admit),
		c.config.Compression.options(),
		c.interceptors(),
		connect.WithConditionalHandlerOptions(call.TraceStreams(c.config.Tracer)),
		connect.WithConditionalHandlerOptions(bounds.Options),
	)
}

// HandleHealth serves /livez, /readyz, /upstreamz and grpc.health.v1.Health for the named services,
// without authentication, because they reveal nothing about the cluster.
func (c *Chain) HandleHealth(mux *http.ServeMux, readiness *health.Readiness, upstream health.Upstream, services []string) {
	health.Handle(mux, readiness, upstream, services, connect.WithHandlerOptions(
		connect.WithRequestGate(gate.NewHealth(c.entrance).Admit),
		connect.WithReadMaxBytes(bounds.MaxHealthRequestBytes),
		withoutCompression,
		c.interceptors(),
	))
}

func (c *Chain) interceptors() connect.Option {
	return connect.WithInterceptors(observe.CountCalls{Metrics: c.config.Metrics}, mapErrors{metrics: c.config.Metrics}, streamlife.CancelOnShutdown{OnShutdown: c.config.OnShutdown}, conditional.Reads{}, gate.ChargeRequests{})
}

// mapErrors maps every error that leaves the service to its Connect code and, for errors of the
// cluster, a kubeconnect.v1.Status. No other code does.
type mapErrors struct {
	call.ServerOnly
	metrics *observe.Metrics
}

// WrapUnary implements connect.Interceptor.
func (m mapErrors) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if err := bounds.RequestError(request); err != nil {
			return nil, callerrors.ConnectError(err)
		}
		response, err := next(ctx, request)
		m.metrics.Limited(err)
		return response, callerrors.ConnectError(err)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (m mapErrors) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		m.metrics.Limited(err)
		return callerrors.ConnectError(err)
	}
}
