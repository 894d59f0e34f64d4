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

// activity records when data last arrived from the API server, on any connection.
type activity struct {
	// paused is called when data arrives after a pause longer than maxQuiet, before any of it is
	// read. since is the time at which data had arrived before. Set once; nil if it is not needed.
	paused func(since time.Time)

	mu    sync.Mutex // guards the fields below
	last  time.Time
	pings bool // idle connections are pinged, because they are HTTP/2
}

func (c *activity) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// record records that data has arrived. After a pause, paused comes first: until it returns, nobody may
// take the time of the arrival for one up to which everything has been received.
func (c *activity) record() {
	now := time.Now()
	if before, pings := c.before(); c.paused != nil && pings && !before.IsZero() && now.Sub(before) > maxQuiet {
		c.paused(before)
	}
	c.advance(now)
}

func (c *activity) before() (last time.Time, pings bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.pings
}

func (c *activity) advance(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.last) {
		c.last = now
	}
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
		return &instrumentedConn{conn, c}, nil
	}
	config.Wrap(func(over http.RoundTripper) http.RoundTripper { return &instrumentedTransport{over, c} })
}

type instrumentedConn struct {
	net.Conn
	activity *activity
}

func (o *instrumentedConn) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	if n > 0 {
		o.activity.record()
	}
	return n, err
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
