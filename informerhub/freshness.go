package informerhub

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/watchlist"
)

const (
	// maxSilence is the longest time without data from the API server. The API server responds to a
	// ping on every idle connection (see HTTP2_READ_IDLE_TIMEOUT_SECONDS in cmd/server).
	maxSilence = 15 * time.Second
	// maxUnconfirmed is the time for which a cache is not stale after it has lost its watch, or
	// while it catches up after reopening it: API servers end every watch after some minutes.
	maxUnconfirmed = 3 * time.Second
)

// Freshness is how current a cache is.
type Freshness struct {
	// Stale reports whether the API server has been lost, or the cache still has to catch up with
	// it.
	Stale bool
	// LastContact is the time as of which the cache is known to be complete: it has everything that
	// had happened by then, apart from the delay of an event.
	LastContact time.Time
}

func worst(all []Freshness, result Freshness) Freshness {
	for _, fresh := range all {
		result.Stale = result.Stale || fresh.Stale
		if fresh.LastContact.Before(result.LastContact) {
			result.LastContact = fresh.LastContact
		}
	}
	return result
}

// following is how a cache follows the API server.
type following struct {
	// current reports whether a watch is open and the cache has caught up since it was opened.
	current bool
	open    bool
	link    *link // of the open watch; nil if there is none or it is unknown
	// asOf is the time as of which the cache is complete, while it is not current.
	asOf time.Time
	// disruptions counts how often the watch was lost or its link stalled.
	disruptions int
	// listing reports whether a list is in progress. listed is the time as of which that list is
	// complete; zero if it may be of any age.
	listing    bool
	listedAsOf time.Time
	// relisting is the time at which the cache began to read a complete snapshot, over all
	// attempts; zero if it reads none.
	relisting time.Time
	// refused reports whether the last failed list or watch got an error response from the API
	// server, so that the connection works. A failure without a response clears it, and so does a
	// list that succeeds, or a cache that becomes current.
	refused bool
}

// Freshness returns how current the cache is.
func (c *scopeCache) Freshness() Freshness {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked()
}

func (c *scopeCache) freshnessLocked() Freshness {
	complete, allowed := c.completeAsOfLocked(), maxUnconfirmed
	if c.following.current {
		allowed = maxSilence
	}
	return Freshness{Stale: time.Since(complete) > allowed, LastContact: complete}
}

// completeAsOfLocked returns the time as of which the cache is complete.
func (c *scopeCache) completeAsOfLocked() time.Time {
	asOf := c.following.asOf
	if !c.following.current {
		return asOf
	}
	last, ok := c.following.link.lastContact()
	if !ok {
		last = c.activity.time()
	}
	if last.Before(asOf) { // the responses that have confirmed it came over another link
		return asOf
	}
	return last
}

// followed returns how current the cache is, how it follows the API server, and whether it has a
// snapshot.
func (c *scopeCache) followed() (fresh Freshness, how following, synced bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked(), c.following, c.state.synced
}

// recordRefusalLocked records whether an attempt to list has failed with a response of the API
// server.
func (c *scopeCache) recordRefusalLocked(err error) {
	var status apierrors.APIStatus
	c.following.refused = errors.As(err, &status)
}

// watchClosed records that no watch is open, because one has ended or is about to be opened.
func (c *scopeCache) watchClosed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following.asOf = c.completeAsOfLocked()
	c.following.current, c.following.open, c.following.link = false, false, nil
	c.following.disruptions++
}

// listStarted records that a list was requested. Without a version its state is that of now; with
// a version it may be as old as the version.
func (c *scopeCache) listStarted(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following.listing, c.following.listedAsOf = true, time.Time{}
	if c.following.relisting.IsZero() {
		c.following.relisting = time.Now()
		c.followList(c.following.relisting)
	}
	if version == "" {
		c.following.listedAsOf = time.Now()
	}
}

// watchOpened records that a watch is open, over a link; nil if that is unknown. An open watch does
// not show how current it is: missed events may still be in transit.
func (c *scopeCache) watchOpened(lists bool, over *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following.open, c.following.link = true, over
	if !lists {
		c.following.listing, c.following.relisting = false, time.Time{}
		c.startedAfterLocked(c.feed.closed)
	}
	signal(c.verifier.needsCatchUp)
}

// listAppliedLocked records that a list was applied.
func (c *scopeCache) listAppliedLocked() {
	asOf := c.following.listedAsOf
	if !c.following.listing {
		asOf = time.Now() // it was not requested here
	}
	if asOf.After(c.following.asOf) {
		c.following.asOf = asOf
	}
	c.following.listing, c.following.relisting, c.following.refused = false, time.Time{}, false
	signal(c.verifier.needsCatchUp)
}

// startedAfterLocked records that a list or watch was started, and that the cache has every deletion up
// to a version.
func (c *scopeCache) startedAfterLocked(version string) {
	if c.feed.unchecked == "" || object.Older(version, c.feed.unchecked) {
		c.feed.unchecked = version
	}
	signal(c.verifier.needsCheck)
}

// markUncertain records that data which arrives over a link from now on may have been delayed since
// the given time.
func (c *scopeCache) markUncertain(over *link, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.following.link != nil && c.following.link != over {
		return
	}
	if c.following.current {
		c.following.current, c.following.asOf = false, since
	}
	c.following.disruptions++ // a catch-up in progress proves nothing
	signal(c.verifier.needsCatchUp)
}

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

// isStalled reports whether nothing has arrived on the link for longer than in normal operation, not even the responses to pings.
func (l *link) isStalled() bool {
	last, ok := l.lastContact()
	return ok && time.Since(last) > maxQuiet
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
	config.Wrap(watchlist.Transport)
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
		noteThrottling(request, response)
	}
	return response, err
}

// WrappedRoundTripper gives client-go access to the inner transport.
func (o *instrumentedTransport) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }
