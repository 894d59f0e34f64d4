package call

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
)

// ResponseTimeout is the time within which a client must have read a unary response.
const ResponseTimeout = 2 * time.Minute

// DrainTimeout is the time that the unread rest of a body may take.
const DrainTimeout = time.Second

// ReplicaHeader is the header of each response to an authenticated caller that has the name of the
// replica which has served it.
const ReplicaHeader = "Kubeconnect-Replica"

// Call is an HTTP request, from its headers until its handler has returned. It is owned by the
// goroutine of the handler.
type Call struct {
	// Request is the request, whose context has the call, and ResponseHeader the headers of the response.
	Request        *http.Request
	ResponseHeader http.Header
	Body           *body
	Network        string // network of the client; see auth.PeerNetwork
	Record         Record
	HasOutcome     bool // see NoteOutcome

	control  *http.ResponseController
	known    func() // see Identified
	isKnown  bool
	answered func(status int) // see OnAnswer; nil if nothing is to be called
	releases []func()
	decoded  []func() // see OnDecoded
	span     span
}

type callKey struct{}

// From returns the call of a context; nil outside of a call.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// New returns the call of a request from a network. known is called when its caller is known, or when it
// has ended.
func New(w http.ResponseWriter, r *http.Request, network string, known func()) *Call {
	c := &Call{Network: network, known: known, control: http.NewResponseController(w), ResponseHeader: w.Header()}
	c.Record.ID, c.Record.Began = RequestIDOf(r), time.Now()
	r.RequestURI = "" // a second copy of the URL, which nobody reads and each copy of the request would keep
	c.ResponseHeader.Set(RequestIDHeader, c.Record.ID)
	c.Request = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	c.Body = &body{ReadCloser: r.Body, received: func() {}}
	if r.Body == http.NoBody {
		c.Body.Err, c.Body.complete = io.EOF, true
	} else {
		c.Request.Body = c.Body
	}
	return c
}

// OnEnd registers release to be called when the handler has returned.
func (c *Call) OnEnd(release func()) { c.releases = append(c.releases, release) }

// OnDecoded registers release to be called when the request is no longer needed as it was received.
func (c *Call) OnDecoded(release func()) { c.decoded = append(c.decoded, release) }

// Decoded calls what OnDecoded has registered.
func (c *Call) Decoded() {
	for _, release := range c.decoded {
		release()
	}
	c.decoded = nil
}

// End releases everything that the call uses.
func (c *Call) End() {
	c.Decoded()
	c.Body.received()
	if c.Request.ProtoMajor == 1 && !c.Body.complete {
		// net/http reads more of the body, to reuse the connection.
		_ = c.control.SetReadDeadline(time.Now().Add(DrainTimeout))
	}
	for _, release := range c.releases {
		release()
	}
	c.known()
}

// Identified ends the bounds for requests of unknown callers.
func (c *Call) Identified() {
	c.isKnown = true
	c.known()
}

// OnAnswer registers a function that is called when the response begins although the caller is not known yet.
func (c *Call) OnAnswer(answered func(status int)) { c.answered = answered }

// begin is called before each part of the response.
func (c *Call) begin(status int) {
	if answered := c.answered; answered != nil {
		c.answered = nil
		if !c.isKnown {
			answered(status)
		}
	}
}

// NoteOutcome records with which error the call has ended, or nil, and counts the call.
func (c *Call) NoteOutcome(err error) {
	c.Record.Err, c.HasOutcome = err, true
	c.Record.count()
}

// Flush sends what is buffered of the response.
func (c *Call) Flush() { _ = c.control.Flush() }

// DropHeaders drops the headers of a request that are no longer needed: they can be 32 KiB, and
// the call may be long. Over HTTP/1.1 they are kept, because net/http reads them when it responds.
func (c *Call) DropHeaders() {
	if c.Request.ProtoMajor == 2 {
		clear(c.Request.Header)
	}
}

// DropTarget drops the query of a request, and its path but for the first bytes, which are no longer needed.
func (c *Call) DropTarget(path int) {
	u := c.Request.URL
	*u = url.URL{Path: strings.Clone(u.Path[:min(len(u.Path), path)])}
}

// ReceiveWithoutDeadline ends what ReceiveWithin has begun.
func (c *Call) ReceiveWithoutDeadline() { c.Body.received() }

// ReceiveWithin makes reads of the body fail if it has not been received within the timeout.
func (c *Call) ReceiveWithin(timeout time.Duration) {
	c.Body.received()
	if c.Body.complete {
		return
	}
	c.Body.received = After(timeout, func() { _ = c.control.SetReadDeadline(time.Unix(1, 0)) })
}

// SendWithoutDeadline removes the server's deadline for responses, which is for all requests.
func (c *Call) SendWithoutDeadline() { _ = c.control.SetWriteDeadline(time.Time{}) }

// SendWithin aborts the call if the client has not read the response within the timeout.
func (c *Call) SendWithin(timeout time.Duration) {
	c.OnEnd(After(timeout, c.AbortResponse))
}

// AbortResponse ends a response that waits for the client, also while it is being written.
func (c *Call) AbortResponse() { _ = c.control.SetWriteDeadline(time.Unix(1, 0)) }

// After calls expire after a timeout, unless stop is called before. When stop returns, expire has
// returned or will not be called, because net/http invalidates the ResponseWriter when its handler
// returns. A timer is cheaper than a deadline, which wakes the connection's goroutine.
func After(timeout time.Duration, expire func()) (stop func()) {
	expired := make(chan struct{})
	timer := time.AfterFunc(timeout, func() {
		defer close(expired)
		expire()
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-expired
		}
	})
}

// body is the body of a request.
type body struct {
	io.ReadCloser
	peeked   bytes.Reader // the bytes that peek has read
	Err      error        // the error that ended reading
	complete bool         // reading ended because the body is complete
	received func()       // called when the body has been received, or is no longer read
}

// Peek returns the first length bytes, or fewer if the body is shorter. Read returns them again. It
// blocks until they have been received.
func (b *body) Peek(length int) []byte {
	begin := make([]byte, length)
	n, _ := io.ReadFull(b, begin)
	b.peeked.Reset(begin[:n])
	return begin[:n]
}

// Receive reads the whole body, but at most limit bytes and one more, and returns its length. Read returns it again.
func (b *body) Receive(limit int64) int64 {
	content, _ := io.ReadAll(io.LimitReader(b, limit+1))
	b.peeked.Reset(content)
	return int64(len(content))
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.peeked.Len() > 0 {
		return b.peeked.Read(p)
	}
	b.peeked.Reset(nil)
	n := 0
	if b.Err == nil {
		n, b.Err = b.ReadCloser.Read(p)
	}
	if isTimeout(b.Err) {
		b.Err = newBodyLate()
	}
	if n > 0 {
		return n, nil // the next Read returns the error: until then a message is decoded
	}
	if b.Err == io.EOF {
		b.complete = true
		b.received()
	}
	return 0, b.Err
}

// Close implements io.Closer. The server closes the body when the handler has returned. Over
// HTTP/1.1 that would read the rest of the body, and the response must not wait for it.
func (b *body) Close() error { return nil }

// newBodyLate returns the error of calls whose request is not received in time.
func newBodyLate() error {
	return connect.NewError(connect.CodeDeadlineExceeded,
		"the request was not received in time: send the whole request at once, and close the sending side of the call")
}

func isTimeout(err error) bool {
	timeout, ok := err.(interface{ Timeout() bool })
	return ok && timeout.Timeout()
}

// WantsMessages reports whether a call's responses are sent in another form than protobuf.
func WantsMessages(ctx context.Context) bool {
	info, ok := connect.CallInfoForServerContext(ctx)
	return !ok || info.Codec == connect.CodecNameJSON || IsGet(ctx)
}

// IsGet reports whether a call is a read by GET, which only unary calls can be.
func IsGet(ctx context.Context) bool {
	request, ok := connecthttp.ServerInfoForContext(ctx)
	return ok && request.HTTPMethod() == http.MethodGet
}

// IsStream reports whether a procedure is a stream.
func IsStream(spec connect.Spec) bool { return spec.StreamType != connect.StreamTypeUnary }

// IsBidi reports whether a procedure is a stream of several requests.
func IsBidi(spec connect.Spec) bool { return spec.StreamType == connect.StreamTypeBidi }
