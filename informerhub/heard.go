package informerhub

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// maxQuiet is the longest pause between data from the API server in normal operation: it responds
// to a ping on every HTTP/2 connection that is idle for a second (see
// HTTP2_READ_IDLE_TIMEOUT_SECONDS in cmd/server). Data that arrives after a longer pause may have
// been delayed for as long, on a stalled link.
const maxQuiet = 2500 * time.Millisecond

// contact records when data last arrived from the API server, on any connection.
type contact struct {
	// paused is called when data arrives after a pause longer than maxQuiet, before any of it is
	// read. since is the time at which data had arrived before. Set once; nil if it is not needed.
	paused func(since time.Time)

	mu    sync.Mutex // guards the fields below
	last  time.Time
	pings bool // idle connections are pinged, because they are HTTP/2
}

func (c *contact) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *contact) note() {
	before, pings := c.advance(time.Now())
	if c.paused != nil && pings && !before.IsZero() && time.Since(before) > maxQuiet {
		c.paused(before)
	}
}

func (c *contact) advance(now time.Time) (before time.Time, pings bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.last = c.last, now
	return before, c.pings
}

// observe makes the connections of a configuration record when data arrives.
func (c *contact) observe(config *rest.Config) {
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &observedConn{conn, c}, nil
	}
	config.Wrap(func(over http.RoundTripper) http.RoundTripper { return &observedTransport{over, c} })
}

type observedConn struct {
	net.Conn
	contact *contact
}

func (o *observedConn) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	if n > 0 {
		o.contact.note()
	}
	return n, err
}

// observedTransport records whether connections are HTTP/2.
type observedTransport struct {
	http.RoundTripper
	contact *contact
}

func (o *observedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(request)
	if err == nil {
		o.contact.mu.Lock()
		o.contact.pings = response.ProtoMajor == 2
		o.contact.mu.Unlock()
	}
	return response, err
}

// WrappedRoundTripper gives client-go access to the inner transport.
func (o *observedTransport) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }
