package informerhub

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

const (
	// maxSilence is how long the API server may be silent. It answers a ping on
	// every connection that is (see HTTP2_READ_IDLE_TIMEOUT_SECONDS in cmd/server).
	maxSilence = 15 * time.Second
	// maxUnconfirmed is for how long a cache that has lost its watch, or has opened it
	// again and is yet to catch up, is not stale: API servers end every watch after some
	// minutes.
	maxUnconfirmed = 3 * time.Second
	// catchUpPatience is how long to wait for a cache to reach the version that the API
	// server has come to, before the API server is asked for it again. A watch that is open
	// and has been quiet for as long, while the API server answers, has nothing to catch up
	// with: some resources, such as events, have no bookmarks that would say so.
	catchUpPatience = 5 * time.Second
	// catchUpPause is how long to wait when the API server could not be asked.
	catchUpPause = time.Second
)

// Freshness tells how current a cache is.
type Freshness struct {
	// Stale says that the API server has been lost, or that the cache has yet to catch up
	// with it.
	Stale bool
	// LastContact is the time as of which the cache is known to be complete: everything
	// that had happened by then, but for the time that an event takes, is in it.
	LastContact time.Time
}

// ObserveCallers makes the connections of a configuration, of which the HTTP clients of
// private caches are made, note what they hear: [Cache.Freshness] of those tells it.
func (h *Hub) ObserveCallers(config *rest.Config) { h.callers.observe(config) }

// following is how a cache follows the API server.
type following struct {
	// current says that a watch is open, and that the cache has caught up since it was
	// opened.
	current bool
	open    bool
	// asOf is, while the cache is not current, as of when it is complete.
	asOf time.Time
	// turn counts how often the watch has been lost, or its link has stood still.
	turn int
	// listing says that a list is under way, and listed as of when that is complete; zero if
	// it may be of any age.
	listing bool
	listed  time.Time
	// relisting is since when the cache reads a whole snapshot, over all attempts; zero if it does not.
	relisting time.Time
	// refused says that the API server has answered the last list with an error: nothing is wrong
	// with the connection. It holds until a list succeeds, or the cache is current.
	refused bool
}

// Freshness returns how current the cache is.
func (c *Cache) Freshness() Freshness {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked()
}

func (c *Cache) freshnessLocked() Freshness {
	now, heard := time.Now(), c.contact.time()
	if c.following.current {
		return Freshness{Stale: now.Sub(heard) > maxSilence, LastContact: heard}
	}
	return Freshness{Stale: now.Sub(c.following.asOf) > maxUnconfirmed, LastContact: c.following.asOf}
}

// Freshness tells how current the replica is: as the one that is worst off of the caches that have a
// snapshot. A cache that the API server answers with errors, because the service may not list the
// resource any more or its conversion webhook is away, is left out while there are others: its own
// answers are stale, but the API server is there. A hub without snapshots has nobody to keep
// waiting, and is not stale.
func (h *Hub) Freshness() Freshness {
	var counted, refused []Freshness
	for _, cache := range h.all() {
		switch fresh, followed, synced := cache.followed(); {
		case !synced:
		case followed.refused:
			refused = append(refused, fresh)
		default:
			counted = append(counted, fresh)
		}
	}
	if len(counted) == 0 {
		counted = refused
	}
	return worst(counted, Freshness{LastContact: h.contact.time()})
}

func worst(of []Freshness, atBest Freshness) Freshness {
	for _, fresh := range of {
		atBest.Stale = atBest.Stale || fresh.Stale
		if fresh.LastContact.Before(atBest.LastContact) {
			atBest.LastContact = fresh.LastContact
		}
	}
	return atBest
}

// followed returns how current the cache is, how it follows the API server, and whether it has a
// snapshot.
func (c *Cache) followed() (fresh Freshness, how following, synced bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked(), c.following, c.state.synced
}

// refusedLocked notes whether an attempt to list has failed by an answer of the API server.
func (c *Cache) refusedLocked(err error) {
	var status apierrors.APIStatus
	c.following.refused = errors.As(err, &status)
}

// lostUpstream notes that no watch is open, because one has ended or is about to be opened.
func (c *Cache) lostUpstream() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.following.current {
		c.following.asOf = c.contact.time()
	}
	c.following.current, c.following.open = false, false
	c.following.turn++
}

// listsUpstream notes that a list has been asked for. Without a version it is as of now, and
// with one it may be as old as that.
func (c *Cache) listsUpstream(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following.listing, c.following.listed = true, time.Time{}
	if c.following.relisting.IsZero() {
		c.following.relisting = time.Now()
	}
	if version == "" {
		c.following.listed = time.Now()
	}
}

// watchesUpstream notes that a watch is open. An open watch says nothing of how far it
// is: what was missed may still be on its way.
func (c *Cache) watchesUpstream(lists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following.open = true
	if !lists {
		c.following.listing, c.following.relisting = false, time.Time{}
	}
	c.startCatchUpLocked()
}

// listedLocked notes that a list has been taken in.
func (c *Cache) listedLocked() {
	asOf := c.following.listed
	if !c.following.listing {
		asOf = time.Now() // it was not asked for here
	}
	if asOf.After(c.following.asOf) {
		c.following.asOf = asOf
	}
	c.following.listing, c.following.relisting, c.following.refused = false, time.Time{}, false
	c.startCatchUpLocked()
}

// doubt notes that what arrives from now on may have been on its way since a time.
func (c *Cache) doubt(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.following.current {
		c.following.current, c.following.asOf = false, since
	}
	c.following.turn++ // a catch-up that is under way proves nothing
	c.startCatchUpLocked()
}

func (c *Cache) startCatchUpLocked() {
	select {
	case c.catchesUp <- struct{}{}:
	default:
	}
}

// confirmCurrent finds out, each time that a watch has been opened, when the cache has
// caught up with the API server, and at each bookmark whether the API server has gone back,
// until the context ends.
func (c *Cache) confirmCurrent(ctx context.Context) {
	for {
		select {
		case <-c.catchesUp:
			c.catchUp(ctx)
		case <-c.bookmarked:
			c.compareVersions(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (c *Cache) catchUp(ctx context.Context) {
	for !c.caughtUp(ctx) {
		if !pause(ctx, catchUpPause) {
			return
		}
	}
}

// compareVersions relists the cache if the API server is at an older version than the cache: its
// etcd was restored from a backup, and the open watch sends nothing of that. A bookmark that is
// older does not prove it, because one API server may lag behind another. A list without a
// version does: its version is not older than anything that any API server has sent before.
func (c *Cache) compareVersions(ctx context.Context) {
	c.mu.RLock()
	is, synced, held := c.following, c.state.synced, c.feed.version
	c.mu.RUnlock()
	if !is.open || is.listing || !synced {
		return // the next watch is compared when it is open
	}
	version, err := c.history.current(ctx)
	if err != nil || !older(version, held) {
		return // without an answer the next bookmark asks again
	}
	c.history.relist()
}

// caughtUp asks the API server for the version that it has come to, and blocks until the
// cache has reached that. A version older than what the cache holds shows that the history was
// undone, and the cache relists: the API server accepts a watch from a version that it has yet
// to reach, and sends nothing. It reports whether there is nothing more to wait for: the cache
// is current, or another watch is to be opened first.
func (c *Cache) caughtUp(ctx context.Context) bool {
	c.mu.RLock()
	is, synced, place, held := c.following, c.state.synced, c.feed.last, c.feed.version
	c.mu.RUnlock()
	if !is.open || !synced {
		return true // it will be waited for when it is
	}
	asked := time.Now()
	version, err := c.history.current(ctx)
	switch {
	case err != nil:
		return false
	case older(version, held) && is.listing:
		return false // the list shows what there is now
	case older(version, held): // etcd was restored from a backup
		c.history.relist()
		return true
	}
	reached, err := c.await(ctx, version, catchUpPatience)
	if err != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.following.turn != is.turn:
		return true
	case !reached && (c.following.listing || c.feed.last != place):
		return false
	}
	c.following.current, c.following.asOf, c.following.refused = true, asked, false
	return true
}
