package server

import (
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxUnknown and maxUnknownOfNetwork bound the requests whose caller is not known, or not
	// yet: in all and from one network. As many streams as a caller may open at once fit in, for
	// they may all wait for one review of their token.
	maxUnknown          = 4096
	maxUnknownOfNetwork = 2048
	// maxRefused and maxRefusedOfNetwork bound the calls that have been refused and whose error is
	// not sent yet, because the client does not read it. A caller may open as many streams at once
	// above its limit.
	maxRefused          = 4096
	maxRefusedOfNetwork = 2048
	// refusedPatience is how long a client may take to read an error of admission.
	refusedPatience = 10 * time.Second
	// drainPatience is how long the rest of a body may take that nobody reads.
	drainPatience = time.Second
	// maxHeaderFields bounds what one request makes of a few bytes: a field costs some 100 bytes
	// here and 4 on the wire.
	maxHeaderFields = 128
)

// entrance bounds what clients hold here whose caller is not known. The bounds are by network,
// since nothing else is known of them. However many networks take what they can, there is some for one more.
type entrance struct {
	unknown      *fairqueue.Queue
	refused      *fairqueue.Queue
	bodyPatience time.Duration
}

func newEntrance(bodyPatience time.Duration) *entrance {
	return &entrance{
		unknown:      fairqueue.New(fairqueue.Limits{Total: maxUnknown, PerKey: maxUnknownOfNetwork}),
		refused:      fairqueue.New(fairqueue.Limits{Total: maxRefused, PerKey: maxRefusedOfNetwork}),
		bodyPatience: bodyPatience,
	}
}

// handler tracks each request as a [call], which next and the gates of RPCs find in the context.
func (e *entrance) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header) > maxHeaderFields {
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		network := auth.Network(r.RemoteAddr).String()
		release, ok := e.unknown.TryShare(network, 1)
		if !ok {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests) // no body: nothing of it waits for the client
			return
		}
		c := newCall(w, r, network)
		c.known = release
		defer c.end()
		c.receiveWithin(e.bodyPatience)
		next.ServeHTTP(w, c.request)
		if r.ProtoMajor == 2 {
			_ = c.control.Flush() // which net/http would do after the call has ended
		}
	})
}

// refuse counts a call as refused until its handler has returned. Where too many from its network
// are, the call is reset, without its error.
func (e *entrance) refuse(c *call) {
	release, ok := e.refused.TryShare(c.network, 1)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	c.atEnd(release)
	c.known()
	c.forgetHeaders()
	c.sendWithin(refusedPatience)
	clear(c.request.Header)        // most of what the call holds
	c.receiveWithin(drainPatience) // over HTTP/1.1 net/http reads the rest of the body first
}

// accept ends the bounds of requests whose caller is not known. The request must be received soon;
// several on one stream may take their time.
func (e *entrance) accept(c *call, spec connect.Spec) {
	c.known()
	_ = c.control.SetWriteDeadline(time.Time{}) // that of the server, for all requests
	if isBidi(spec) {
		c.body.received()
		return
	}
	c.receiveWithin(e.bodyPatience)
}

func isStream(spec connect.Spec) bool { return spec.StreamType != connect.StreamTypeUnary }

func isBidi(spec connect.Spec) bool { return spec.StreamType == connect.StreamTypeBidi }
