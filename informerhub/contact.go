package informerhub

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// maxSilence is how long the API server may be silent. It answers a ping on
	// every connection that is (see HTTP2_READ_IDLE_TIMEOUT_SECONDS in cmd/server).
	maxSilence = 15 * time.Second
	// maxRewatch is how long a watch may take to be opened again.
	maxRewatch = 2 * time.Second
)

// Freshness tells how current a cache is.
type Freshness struct {
	// Stale says that the API server has been lost.
	Stale bool
	// LastContact is when it was last known to be there.
	LastContact time.Time
}

// contact is when the API server was last heard of, on any connection to it.
type contact struct{ last atomic.Int64 } // Unix nanoseconds

func (c *contact) note()           { c.last.Store(time.Now().UnixNano()) }
func (c *contact) time() time.Time { return time.Unix(0, c.last.Load()) }

// observe makes the connections of a configuration note what they hear.
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
}

// ObserveCallers makes the connections of a configuration, of which the HTTP clients of
// private caches are made, note what they hear: [Cache.Freshness] of those tells it.
func (h *Hub) ObserveCallers(config *rest.Config) { h.callers.observe(config) }

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

// following is whether a cache's watch at the API server is open.
type following struct {
	open bool
	lost time.Time // if it is not: since when
}

// Freshness tells how current the cache is.
func (c *Cache) Freshness() Freshness {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked()
}

func (c *Cache) freshnessLocked() Freshness {
	now, heard := time.Now(), c.contact.time()
	if c.following.open {
		return Freshness{Stale: now.Sub(heard) > maxSilence, LastContact: heard}
	}
	return Freshness{Stale: now.Sub(c.following.lost) > maxRewatch, LastContact: c.following.lost}
}

// Freshness tells how current the caches are: it is that of the one that is worst off.
// A hub without caches has nobody to keep waiting, and is not stale.
func (h *Hub) Freshness() Freshness {
	worst := Freshness{LastContact: h.contact.time()}
	for _, cache := range h.all() {
		is := cache.Freshness()
		if worst.Stale = worst.Stale || is.Stale; is.LastContact.Before(worst.LastContact) {
			worst.LastContact = is.LastContact
		}
	}
	return worst
}

// lostUpstream notes that no watch is open, for one is about to be opened.
func (c *Cache) lostUpstream() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.following.open {
		c.following = following{lost: c.contact.time()}
	}
}

// followsUpstream notes that a watch is open.
func (c *Cache) followsUpstream() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following = following{open: true}
}
