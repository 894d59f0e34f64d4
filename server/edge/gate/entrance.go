package gate

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
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
	// at once. As many have begun within promptTimeout, and are not counted as unread yet.
	maxRefused          = 4096
	maxRefusedOfNetwork = 2048
	// promptTimeout is the time within which clients that read have read an answer.
	promptTimeout = time.Second
	// refusedTimeout is the time within which a client must have read an admission error.
	refusedTimeout = 10 * time.Second
	// bodyTimeout is the time within which a client must send its request.
	bodyTimeout = 30 * time.Second
	// unsentTimeout is the time within which a client must have read the end of a response: what is left of it when its
	// handler has returned.
	unsentTimeout = 30 * time.Second
	// maxHeaderFields bounds the memory of a request's headers: a field takes about 100 bytes here
	// and 4 on the wire.
	maxHeaderFields = 128
	// maxProtocolValue is the length to which headers about the protocol are cut. No valid one is longer, and connect
	// returns invalid ones in its errors.
	maxProtocolValue = 64
	// maxPath bounds the path of a request, and maxQuery its query unless that has the message of a read.
	maxPath  = 1 << 10
	maxQuery = 8 << 10
	// maxKubernetesQuery bounds the query of a request for Kubernetes' API, which has selectors, and the command of an exec.
	maxKubernetesQuery = 64 << 10
	// maxKeptPath is the length to which the path of a request is cut when its response waits for the client.
	maxKeptPath = 256
)

// protocolHeaders are the headers whose values connect returns in errors.
var protocolHeaders = []string{
	"Connect-Content-Encoding", "Connect-Protocol-Version", "Connect-Timeout-Ms", "Content-Encoding", "Grpc-Encoding", "Grpc-Timeout",
}

// protocolParameters are those of the query of a read by GET.
var protocolParameters = []string{"base64", "compression", "connect", "encoding"}

// Entrance bounds the memory and connections of clients whose caller is not known. The bounds are
// by network, because nothing else is known about these clients. However many networks use their
// maximum, there is capacity left for another network: see fairqueue.Queue.TryShare.
//
// A request counts as unknown from its headers until its gate has accepted or refused it, or something else answers it: connect
// does, if it cannot read the request as a call, and so do probes and the console. It then counts as answered, and as refused if
// its client does not read the answer: such clients take no places of requests whose caller is not known yet, and none of those
// that read.
type Entrance struct {
	// Set once.
	unknown     *fairqueue.Queue // requests whose caller is not known yet, by network
	answered    *fairqueue.Queue // requests whose answer has just begun although their caller is not known, by network
	refused     *fairqueue.Queue // those whose client has not read the answer for promptTimeout, by network
	bodyTimeout time.Duration
	log         *observe.CallLog
	usage       *observe.Usage
	metrics     *observe.Metrics
}

// NewEntrance returns an entrance. Clients must send their requests within the timeout, or in 30 s if it is 0.
func NewEntrance(timeout time.Duration, log *observe.CallLog, usage *observe.Usage, metrics *observe.Metrics) *Entrance {
	return &Entrance{
		unknown:     fairqueue.New(fairqueue.Limits{Total: maxUnknown, PerKey: maxUnknownOfNetwork}),
		answered:    fairqueue.New(fairqueue.Limits{Total: maxRefused, PerKey: maxRefusedOfNetwork}),
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
		if status := bound(r); status != 0 {
			rejectAtOnce(w, r, status)
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
		c.OnAnswer(func(status int) { e.answer(c, status) })
		next.ServeHTTP(c.Writer(w), c.Request)
		e.metrics.NoteUnreadable(c)
		if r.ProtoMajor == 2 {
			c.SendWithin(unsentTimeout)
			c.Flush() // net/http would flush only after the call has ended
		}
	})
}

// bound returns the status with which a request is rejected because its headers are too large; 0 if it is not. It cuts what
// connect would return in an error.
func bound(r *http.Request) (status int) {
	if len(r.Header) > maxHeaderFields {
		return http.StatusRequestHeaderFieldsTooLarge
	}
	query := maxQuery
	if bounds.IsKubernetesPath(r.URL.Path) {
		query = maxKubernetesQuery
	}
	if len(r.URL.Path) > maxPath || len(r.URL.RawQuery) > query && !isReadByGet(r) {
		return http.StatusRequestURITooLong
	}
	for _, name := range protocolHeaders {
		for i, value := range r.Header[name] {
			if len(value) > maxProtocolValue {
				r.Header[name][i] = strings.Clone(value[:maxProtocolValue])
			}
		}
	}
	if isReadByGet(r) {
		cutParameters(r.URL)
	}
	return 0
}

// cutParameters cuts the parameters of a read by GET that connect would return in an error.
func cutParameters(u *url.URL) {
	query, cut := u.Query(), false
	for _, name := range protocolParameters {
		if value := query.Get(name); len(value) > maxProtocolValue {
			query.Set(name, value[:maxProtocolValue])
			cut = true
		}
	}
	if cut {
		u.RawQuery = query.Encode()
	}
}

// isReadByGet reports whether a request is for a procedure by GET, whose query has the message.
func isReadByGet(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/kubeconnect.")
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
	e.answer(c, http.StatusUnauthorized)
	clear(c.Request.Header)            // most of the call's memory
	c.ReceiveWithin(call.DrainTimeout) // over HTTP/1.1 net/http reads the rest of the body first
	return err
}

// answer counts a request as answered, and no longer as unknown, because its response begins. It may last until its client has
// read the response, so it keeps as little memory as possible. An error must be read within refusedTimeout; the console and
// the probes have the server's own deadline. If the network has too many such requests, this one is reset.
func (e *Entrance) answer(c *call.Call, status int) {
	release, ok := e.answered.TryShare(c.Network, 1)
	if !ok {
		panic(http.ErrAbortHandler) // net/http resets the call without a response that would wait for the client
	}
	c.Identified()
	c.DropHeaders()
	c.DropTarget(maxKeptPath)
	if status >= http.StatusBadRequest || c.Record.Procedure != "" {
		c.SendWithin(refusedTimeout)
	}
	stop := call.After(promptTimeout, func() {
		unread, ok := e.refused.TryShare(c.Network, 1)
		release()
		if release = unread; !ok {
			release = func() {}
			c.AbortResponse()
		}
	})
	c.OnEnd(func() {
		stop() // release does not change any more
		release()
	})
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
