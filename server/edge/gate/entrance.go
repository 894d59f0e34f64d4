package gate

import (
	"cmp"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

const (
	// maxUnknown and maxUnknownOfNetwork bound the requests whose caller is not known, or not yet:
	// in all and from one network. They are large enough for as many streams as a caller can open
	// at once, because all of these may wait for one review of their token.
	maxUnknown          = 4096
	maxUnknownOfNetwork = 2048
	// maxRefused and maxRefusedOfNetwork bound the rejected calls whose error has not been sent
	// yet, because the client does not read it. A caller may open that many streams above its limit
	// at once.
	maxRefused          = 4096
	maxRefusedOfNetwork = 2048
	// refusedTimeout is the time within which a client must have read an admission error.
	refusedTimeout = 10 * time.Second
	// bodyTimeout is the time within which a client must send its request.
	bodyTimeout = 30 * time.Second
	// maxHeaderFields bounds the memory of a request's headers: a field takes about 100 bytes here
	// and 4 on the wire.
	maxHeaderFields = 128
)

// Entrance bounds the memory and connections of clients whose caller is not known. The bounds are
// by network, because nothing else is known about these clients. However many networks use their
// maximum, there is capacity left for another network: see fairqueue.Queue.TryShare.
//
// A request counts as unknown from its headers until its gate has accepted or refused it. Its gate is found by the mux, so
// the count of a request that is for no RPC ends with the request.
type Entrance struct {
	// Set once.
	unknown     *fairqueue.Queue // requests whose caller is not known yet, by network
	refused     *fairqueue.Queue // rejected calls whose client has not read the error yet, by network
	bodyTimeout time.Duration
	log         *observe.CallLog
	usage       *observe.Usage
	metrics     *observe.Metrics
}

// NewEntrance returns an entrance. Clients must send their requests within the timeout, or in 30 s if it is 0.
func NewEntrance(timeout time.Duration, log *observe.CallLog, usage *observe.Usage, metrics *observe.Metrics) *Entrance {
	return &Entrance{
		unknown:     fairqueue.New(fairqueue.Limits{Total: maxUnknown, PerKey: maxUnknownOfNetwork}),
		refused:     fairqueue.New(fairqueue.Limits{Total: maxRefused, PerKey: maxRefusedOfNetwork}),
		bodyTimeout: cmp.Or(timeout, bodyTimeout),
		log:         log,
		usage:       usage,
		metrics:     metrics,
	}
}

// Handler tracks each request as a [call.Call]. next and the gates of RPCs find it in the context. Whatever they register at
// the call is released when next has returned, also after a panic.
func (e *Entrance) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header) > maxHeaderFields {
			rejectAtOnce(w, r, http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		network := auth.PeerNetwork(r.RemoteAddr).String()
		release, ok := e.unknown.TryShare(network, 1)
		if !ok {
			w.Header().Set("Retry-After", "1")
			rejectAtOnce(w, r, http.StatusTooManyRequests)
			return
		}
		c := call.New(w, r, network, release)
		// In reverse order: a panic is noted, the call ends, and then what it has used is counted and logged.
		defer e.log.Log(c)
		defer e.usage.End(c)
		defer c.End()
		defer e.metrics.NotePanic(c)
		c.ReceiveWithin(e.bodyTimeout)
		next.ServeHTTP(c.Writer(w), c.Request)
		if r.ProtoMajor == 2 {
			c.Flush() // net/http would flush only after the call has ended
		}
	})
}

// rejectAtOnce responds without a body, so that no response waits for the client.
func rejectAtOnce(w http.ResponseWriter, r *http.Request, status int) {
	w.Header().Set(call.RequestIDHeader, call.RequestIDOf(r))
	w.WriteHeader(status)
}

// refuse returns the error of a call that a gate rejects because of err, and counts the call as rejected until
// its handler has returned. If its network has too many such calls, the call is reset without its error.
func (e *Entrance) refuse(c *call.Call, spec connect.Spec, err error) error {
	e.metrics.Limited(err)
	err = callerrors.ConnectError(err)
	e.metrics.Refused(spec, c, err)
	release, ok := e.refused.TryShare(c.Network, 1)
	if !ok {
		panic(http.ErrAbortHandler) // net/http resets the call without a response that would wait for the client
	}

	// The call now counts as rejected, and no longer as unknown. It may last until its client has read the error, so it
	// keeps as little memory as possible, for a bounded time.
	c.OnEnd(release)
	c.Identified()
	c.SendWithin(refusedTimeout)
	clear(c.Request.Header)            // most of the call's memory
	c.ReceiveWithin(call.DrainTimeout) // over HTTP/1.1 net/http reads the rest of the body first
	return err
}

// accept ends the bounds for requests of unknown callers. The request must be received within
// bodyTimeout. Streams of several requests have no such limit. The time begins again here, because
// authenticating the caller may have taken a while.
func (e *Entrance) accept(c *call.Call, spec connect.Spec) {
	c.Identified()
	c.SendWithoutDeadline()
	if call.IsBidi(spec) {
		c.ReceiveWithoutDeadline()
		return
	}
	c.ReceiveWithin(e.bodyTimeout)
}
