package gate

import (
	"context"
	"errors"
	"math"
	"net/http"
	"runtime"
	"time"

	"connectrpc.com/connect/v2"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// admitTimeout is the time that a call waits for other calls of its caller to end.
const admitTimeout = 5 * time.Second

// Gate admits calls, unary and streaming alike, before their messages are read: it authenticates
// the caller and applies its limits. It puts the caller into the context. Everything that a call
// reserves is released when its handler has returned.
//
// The limits apply in the order of their cost: the rate and the number of calls, then the memory that is kept for a stream,
// then the memory to decode the request. A call that is rejected has not been decoded.
type Gate struct {
	// Set once. The queues and the pace are shared by all calls, and have locks of their own.
	entrance   *Entrance
	config     Config
	received   *fairqueue.Queue // bytes of large requests that are received, by caller
	requests   *fairqueue.Queue // bytes of requests that are decoded, by caller
	processors *fairqueue.Queue // slots of all callers
	pace       *fairqueue.Pace  // of the streams of each caller; nil without limits
}

// Config configures a gate.
type Config struct {
	Authenticator auth.Authenticator
	Callers       *Callers
	Limits        Limits         // of each caller
	Kept          *ledger.Ledger // what is kept for open streams
	Replica       string         // see ReplicaHeader; empty: responses do not have it
	Tracer        trace.Tracer   // nil without traces
}

// New returns a gate behind an entrance, with the slots of the calls that it admits.
func New(entrance *Entrance, config Config) *Gate {
	return &Gate{
		entrance:   entrance,
		config:     config,
		received:   entrance.metrics.Queue("received_bytes", newReceivedQueue()),
		requests:   entrance.metrics.Queue("request_bytes", newRequestQueue()),
		processors: entrance.metrics.Queue("processors", newProcessors()),
		pace:       newPace(config.Limits),
	}
}

// Admit is the interceptor around all calls but those of health.
func (g *Gate) Admit(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		c := call.From(ctx)
		protocol := plainHTTP
		if info, ok := connect.CallInfoForServerContext(ctx); ok {
			protocol = info.Protocol
		}
		ctx = c.BeginSpan(ctx, g.config.Tracer, protocol)
		admitted, err := g.enter(ctx, c, spec)
		if err != nil {
			return g.entrance.refuse(c, spec, err)
		}
		return next(admitted, spec, stream)
	}
}

// enter returns the context of a call that is admitted, or why it is not. What was reserved before an error is released
// when the call ends: enter registers each reservation at the call as soon as it has it.
func (g *Gate) enter(ctx context.Context, c *call.Call, spec connect.Spec) (context.Context, error) {
	calling, err := call.Authenticate(ctx, g.config.Authenticator, c.Request.Header)
	if err != nil {
		return nil, err
	}

	// The caller is known: the response and the records of the call name it, also if the call is rejected.
	name := call.CallerKey(calling.Identity)
	c.Record.Identify(calling.Identity)
	g.entrance.usage.Begin(c, call.IsStream(spec))
	if g.config.Replica != "" {
		c.ResponseHeader.Set(call.ReplicaHeader, g.config.Replica)
	}
	if c.Request.Method == http.MethodGet && c.Request.Header.Get("Authorization") == "" && !bounds.IsKubernetes(spec.Procedure) {
		return nil, errGetWithoutToken
	}

	// The limits of the caller.
	credential := call.CredentialKey(calling.Identity)
	ctx = ledger.With(ctx, g.config.Kept.Account(name, credential))
	if call.IsStream(spec) {
		err = g.openStream(ctx, c, name, credential)
	} else {
		err = g.beginCall(ctx, c, name)
	}
	if err != nil {
		return nil, err
	}

	// The request. The bounds for unknown callers end before it is received: a client that sends slowly keeps no place that
	// other networks need.
	g.entrance.accept(c, spec)
	if err := g.reserve(ctx, c, spec, name); err != nil {
		return nil, err
	}

	// The processor slots, which the work of the call is paid from. Only streams have a pace: the client of a
	// unary call waits for the work.
	ctx = fairqueue.WithMeter(call.WithCaller(ctx, calling), g.processors, name, c.Record.UsedProcessor)
	if g.pace != nil && call.IsStream(spec) {
		c.Record.Paces(g.pace, name)
		ctx = fairqueue.WithPace(ctx, g.pace)
	}
	return ctx, nil
}

// openStream counts a stream, for its caller and for the credential, and charges for it. It never waits: a client that opens
// many streams is rejected with a retry time, and does not occupy the service meanwhile.
func (g *Gate) openStream(ctx context.Context, c *call.Call, name, credential string) error {
	if err := g.config.Callers.open(name); err != nil {
		return err
	}
	c.OnEnd(func() { g.config.Callers.close(name) })
	release, err := g.config.Callers.HoldStreams(name, credential, 1)
	if err != nil {
		return err
	}
	c.OnEnd(release)
	charge, err := ledger.From(ctx).Charge(streamBytes)
	c.OnEnd(charge.Release) // also after an error, when it releases nothing
	return err
}

// beginCall counts a unary call. A call above the rate is rejected at once. A call above the number of running calls waits for
// a few seconds, because unary calls end soon.
func (g *Gate) beginCall(ctx context.Context, c *call.Call, name string) error {
	if err := g.config.Callers.call(name); err != nil {
		return err
	}
	release, err := g.acquire(ctx, g.config.Callers.calls, name, 1, callerrors.LimitCalls, "call limit reached: too many of your calls are running or waiting")
	if err != nil {
		return err
	}
	c.OnEnd(release)
	return nil
}

// acquire waits for at most admitTimeout. It returns a *callerrors.LimitError after that, or at once if
// too many calls wait already.
func (g *Gate) acquire(ctx context.Context, queue *fairqueue.Queue, name string, weight int64, limit callerrors.Limit, message string) (release func(), err error) {
	release, err = queue.AcquireWithin(ctx, name, weight, admitTimeout)
	if errors.Is(err, fairqueue.ErrFull) {
		return nil, &callerrors.LimitError{Limit: limit, Over: message, Wait: g.config.Callers.retryAfter(name)}
	}
	return release, err
}

// plainHTTP is the protocol, in traces, of requests that are no calls of connect.
const plainHTTP = "http"

// errGetWithoutToken rejects reads by GET that a page of any site could make a browser send, with
// the browser's client certificate or without authentication. A browser never sends Authorization
// by itself.
var errGetWithoutToken = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Reason:  metav1.StatusReasonForbidden,
	Code:    http.StatusForbidden,
	Message: "a call by GET needs a bearer token: send one in the Authorization header, or call by POST",
}}

const (
	// maxWaitingCalls bounds the waiting calls of one caller.
	maxWaitingCalls = 200
	// maxReceivedBytes bounds the large requests that are received at a time.
	maxReceivedBytes = 24 << 20
	// maxRequestsBytes bounds the requests that are decoded at a time, and maxRequestsOfCaller those of one
	// caller.
	maxRequestsBytes    = 48 << 20
	maxRequestsOfCaller = maxRequestsBytes / 4
)

// newCallQueue returns the queue for slots of unary calls; 0 is no limit.
func newCallQueue(perCaller int) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "other calls", Total: math.MaxInt64, PerKey: int64(perCaller), Waiting: maxWaitingCalls})
}

// newRequestQueue returns the queue for the bytes of requests that are decoded.
func newRequestQueue() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "request memory", Total: maxRequestsBytes, PerKey: maxRequestsOfCaller, Waiting: maxWaitingCalls})
}

// newReceivedQueue returns the queue for the bytes of large requests that are received.
func newReceivedQueue() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "the memory of large requests", Total: maxReceivedBytes, PerKey: maxReceivedBytes / 4, Waiting: maxWaitingCalls})
}

// paceShare is the part of all processors that the streams of one caller can use for changes in the long
// run, and minPace the minimum, in processors.
const paceShare, minPace = 4, 0.5

// newPace returns the pace of the streams of each caller; nil if callers have no limits, because all calls
// then count as one caller.
func newPace(limits Limits) *fairqueue.Pace {
	if limits == (Limits{}) {
		return nil
	}
	return fairqueue.NewPace(max(minPace, float64(runtime.GOMAXPROCS(0))/paceShare))
}

// newProcessors returns the queue for processor slots of longer work. One processor is reserved for
// short calls if there are several.
func newProcessors() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: int64(max(1, runtime.GOMAXPROCS(0)-1))})
}
