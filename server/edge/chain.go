package edge

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/trace"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// ChainConfig configures a chain. Authenticator, Metrics, Usage and OnShutdown are required.
type ChainConfig struct {
	Authenticator auth.Authenticator
	Limits        Limits // of each caller that Authenticator distinguishes
	Metrics       *Metrics
	Compression   Compression
	// OnShutdown registers a function that is called once, in its own goroutine, when the service
	// begins to shut down, or at once if that has begun. It returns a function that removes it
	// again, as that of [context.AfterFunc] does. It is called concurrently.
	OnShutdown func(end func()) (remove func() bool)
	// CORSOrigins are the other origins whose pages are allowed to call.
	CORSOrigins []string
	// Usage records who uses the service.
	Usage *Usage
	// LogSample is the part of the calls that is logged, in addition to changes and to calls that fail:
	// from 0 to 1.
	LogSample float64
	// Replica is the name of this process in [ReplicaHeader]. Default: responses do not have it.
	Replica string
	// Adjuster changes Limits and LogSample later. Default: they are never changed.
	Adjuster *Adjuster
	// Tracer begins the spans of calls. Default: none.
	Tracer trace.Tracer
	// BodyPatience is the time within which a client must send its request. Default: 30 s.
	BodyPatience time.Duration
	// KeptBytes is the memory that can be kept for open streams. Default: a part of the process's memory limit.
	KeptBytes int
}

// Chain is what each request passes, in this order: the bounds for unknown callers and for other
// sites' pages (Handler), and for each RPC a gate and the interceptors (Options).
type Chain struct {
	// Callers are the callers that the gate has admitted.
	Callers *Callers
	// Kept is the memory that is kept for the streams of callers.
	Kept *ledger.Ledger

	config   ChainConfig
	entrance *entrance
}

// NewChain returns a chain without calls.
func NewChain(config ChainConfig) *Chain {
	log := newCallLog(config.LogSample)
	chain := &Chain{
		Callers:  NewCallers(config.Limits),
		Kept:     newKept(config.KeptBytes, config.Limits, config.Metrics, config.Usage),
		config:   config,
		entrance: newEntrance(config.BodyPatience, log, config.Usage, config.Metrics),
	}
	config.Adjuster.attach(chain.Callers, log)
	return chain
}

// Handler returns the handler of all requests. next must have the console at "/".
func (c *Chain) Handler(next *http.ServeMux) http.Handler {
	return c.entrance.handler(sameSite(c.config.CORSOrigins, next))
}

// Options returns the options of the handlers of RPCs. It must be called once, because the result has the
// slots of the calls.
func (c *Chain) Options() connect.HandlerOption {
	admission := newGate(c.entrance, gateConfig{
		Authenticator: c.config.Authenticator,
		Callers:       c.Callers,
		Limits:        c.config.Limits,
		Kept:          c.Kept,
		Replica:       c.config.Replica,
		Tracer:        c.config.Tracer,
	})
	return connect.WithHandlerOptions(
		connect.WithRequestGate(admission.admit),
		c.config.Compression.options(),
		c.interceptors(),
		connect.WithConditionalHandlerOptions(traceStreams(c.config.Tracer)),
		connect.WithConditionalHandlerOptions(boundedBy),
	)
}

// HandleHealth serves /livez, /readyz, /upstreamz and grpc.health.v1.Health for the named services,
// without authentication, because they reveal nothing about the cluster.
func (c *Chain) HandleHealth(mux *http.ServeMux, readiness *Readiness, upstream UpstreamHealth, services []string) {
	handleHealth(mux, readiness, upstream, services, connect.WithHandlerOptions(
		connect.WithRequestGate(newHealthGate(c.entrance).admit),
		connect.WithReadMaxBytes(maxHealthRequestBytes),
		withoutCompression,
		c.interceptors(),
	))
}

func (c *Chain) interceptors() connect.Option {
	return connect.WithInterceptors(countCalls{metrics: c.config.Metrics}, mapErrors{metrics: c.config.Metrics}, cancelOnShutdown{onShutdown: c.config.OnShutdown}, conditionalReads{}, chargeRequests{})
}

// mapErrors maps every error that leaves the service to its Connect code and, for errors of the
// cluster, a kubeconnect.v1.Status. No other code does.
type mapErrors struct {
	serverOnly
	metrics *Metrics
}

// WrapUnary implements connect.Interceptor.
func (m mapErrors) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if err := invalidRequestOf(request); err != nil {
			return nil, ConnectError(err)
		}
		response, err := next(ctx, request)
		m.metrics.limited(err)
		return response, ConnectError(err)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (m mapErrors) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		m.metrics.limited(err)
		return ConnectError(err)
	}
}
