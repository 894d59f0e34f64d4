package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// call is an HTTP request, from its headers until its handler has returned. It is owned by the
// goroutine of the handler.
type call struct {
	began    time.Time
	request  *http.Request
	network  string // where it comes from; see auth.Network
	control  *http.ResponseController
	body     *body
	known    func() // releases the place among requests whose caller is not known
	releases []func()
}

type callKey struct{}

func callFrom(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

func newCall(w http.ResponseWriter, r *http.Request, network string) *call {
	c := &call{began: time.Now(), network: network, control: http.NewResponseController(w)}
	c.request = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	c.body = &body{ReadCloser: r.Body, received: func() {}}
	if r.Body == http.NoBody {
		c.body.failed, c.body.complete = io.EOF, true
	} else {
		c.request.Body = c.body
	}
	return c
}

// atEnd has release called when the handler has returned.
func (c *call) atEnd(release func()) { c.releases = append(c.releases, release) }

// end releases what the call holds.
func (c *call) end() {
	c.body.received()
	if c.request.ProtoMajor == 1 && !c.body.complete {
		// net/http reads some more of the body, to use the connection again.
		_ = c.control.SetReadDeadline(time.Now().Add(drainPatience))
	}
	for _, release := range c.releases {
		release()
	}
	c.known()
}

// forgetHeaders drops the headers of a request that nobody needs any longer: they can be 32 KiB, and
// the call may last. Over HTTP/1.1, net/http looks at them when it answers.
func (c *call) forgetHeaders() {
	if c.request.ProtoMajor == 2 {
		clear(c.request.Header)
	}
}

// receiveWithin ends the body with an error if it has not been received in a time from now.
func (c *call) receiveWithin(patience time.Duration) {
	c.body.received()
	if c.body.complete {
		return
	}
	c.body.received = after(patience, func() { _ = c.control.SetReadDeadline(time.Unix(1, 0)) })
}

// sendWithin ends the call if what it sends has not been taken by the client in a time from now.
func (c *call) sendWithin(patience time.Duration) {
	c.atEnd(after(patience, func() { _ = c.control.SetWriteDeadline(time.Unix(1, 0)) }))
}

// after calls expire after a time, unless stop is called before. When stop returns, expire has
// returned too, or is not called: net/http takes what is behind a ResponseWriter away when its
// handler returns. A timer costs less than a deadline, which is a turn of the connection's
// goroutine.
func after(patience time.Duration, expire func()) (stop func()) {
	expired := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
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
	begin    bytes.Reader // what peek has read
	failed   error        // what reading has ended with
	complete bool         // whether it has ended because there is no more
	received func()       // called when it has been received, or is no longer read
}

// peek returns the first bytes, fewer if there are no more, which Read returns again. It blocks
// until they have been received.
func (b *body) peek(length int) []byte {
	begin := make([]byte, length)
	n, _ := io.ReadFull(b, begin)
	b.begin.Reset(begin[:n])
	return begin[:n]
}

// whenReceived has release called when the body has been received.
func (b *body) whenReceived(release func()) {
	if b.complete {
		release()
		return
	}
	stop := b.received
	b.received = func() { stop(); release() }
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.begin.Len() > 0 {
		return b.begin.Read(p)
	}
	n := 0
	if b.failed == nil {
		n, b.failed = b.ReadCloser.Read(p)
	}
	if isTimeout(b.failed) {
		b.failed = newBodyLate()
	}
	if n > 0 {
		return n, nil // the end is for the next Read: until then, a message is decoded
	}
	if b.failed == io.EOF {
		b.complete = true
		b.received()
	}
	return 0, b.failed
}

// Close implements io.Closer. The server closes the body when the handler has returned; over HTTP/1.1
// it reads the rest of it, and the answer must not wait for that.
func (b *body) Close() error { return nil }

// newBodyLate returns the error of calls whose request is not received in time.
func newBodyLate() error {
	return connect.NewError(connect.CodeDeadlineExceeded, errors.New(
		"the request was not received in time: send all of it at once, and end the requests of the call after it"))
}

func isTimeout(err error) bool {
	timeout, ok := err.(interface{ Timeout() bool })
	return ok && timeout.Timeout()
}
