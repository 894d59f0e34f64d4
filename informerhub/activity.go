package informerhub

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// maxQuiet is the longest pause between data from the API server in normal operation: it responds
// to a ping on every HTTP/2 connection that is idle for a second (see
// HTTP2_READ_IDLE_TIMEOUT_SECONDS in cmd/server). Data that arrives after a longer pause may have
// been delayed for as long, on a stalled link.
const maxQuiet = 2500 * time.Millisecond

// activity records when data last arrived from the API server, on any connection of a client.
type activity struct {
	// paused is called when data arrives on a connection after a pause longer than maxQuiet, before any
	// of it is read. since is the time at which data had arrived on it before. Set once; nil if it is
	// not needed.
	paused func(over *link, since time.Time)

	mu    sync.Mutex // guards the fields below
	last  time.Time
	pings bool // idle connections are pinged, because they are HTTP/2
}

func (c *activity) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// record records that data has arrived now.
func (c *activity) record() { c.advance(time.Now()) }

func (c *activity) advance(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.last) {
		c.last = now
	}
}

func (c *activity) isPinged() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pings
}

// link is one connection to the API server. What arrives on it shows nothing about another one: a
// watch can be on a connection that is lost, which takes a while to notice, while new requests get
// their responses on the next.
type link struct {
	net.Conn
	client *activity // of all connections of the client

	mu   sync.Mutex // guards last
	last time.Time
}

// lastContact returns the time at which data last arrived on the link; false if that shows nothing,
// because nothing is sent on an idle connection.
func (l *link) lastContact() (time.Time, bool) {
	if l == nil || !l.client.isPinged() {
		return time.Time{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, true
}

// record records that data has arrived. After a pause, paused comes first: until it returns, nobody may
// take the time of the arrival for one up to which everything has been received.
func (l *link) record() {
	now := time.Now()
	if before, pinged := l.lastContact(); l.client.paused != nil && pinged && !before.IsZero() && now.Sub(before) > maxQuiet {
		l.client.paused(l, before)
	}
	l.mu.Lock()
	l.last = now
	l.mu.Unlock()
	l.client.advance(now)
}

func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 {
		l.record()
	}
	return n, err
}

// traceLink returns a context for a request, and a function that returns the link over which it was
// sent; nil if that is unknown.
func traceLink(ctx context.Context) (context.Context, func() *link) {
	var used atomic.Pointer[link]
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		conn := got.Conn
		if secured, ok := conn.(*tls.Conn); ok {
			conn = secured.NetConn()
		}
		over, _ := conn.(*link)
		used.Store(over)
	}})
	return traced, used.Load
}

// instrument makes the connections of a configuration record when data arrives.
func (c *activity) instrument(config *rest.Config) {
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &link{Conn: conn, client: c}, nil
	}
	config.Wrap(func(over http.RoundTripper) http.RoundTripper { return &instrumentedTransport{over, c} })
}

// instrumentedTransport records whether connections are HTTP/2.
type instrumentedTransport struct {
	http.RoundTripper
	activity *activity
}

func (o *instrumentedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(request)
	if err == nil {
		o.activity.mu.Lock()
		o.activity.pings = response.ProtoMajor == 2
		o.activity.mu.Unlock()
	}
	return response, err
}

// WrappedRoundTripper gives client-go access to the inner transport.
func (o *instrumentedTransport) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }
