package informerhub

import (
	"context"
	"errors"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// maxSilence is the longest time without data from the API server. The API server responds to a
	// ping on every idle connection (see HTTP2_READ_IDLE_TIMEOUT_SECONDS in cmd/server).
	maxSilence = 15 * time.Second
	// maxUnconfirmed is the time for which a cache is not stale after it has lost its watch, or
	// while it catches up after reopening it: API servers end every watch after some minutes.
	maxUnconfirmed = 3 * time.Second
	// catchUpPatience is the time to wait for a cache to reach the API server's current version,
	// before the API server is asked for the version again. A watch that is open and has been quiet
	// for that long, while the API server responds, has nothing to catch up with: some resources,
	// such as events, have no bookmarks that would show it.
	catchUpPatience = 5 * time.Second
	// catchUpPause is the pause after the API server could not be asked.
	catchUpPause = time.Second
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
func (c *Cache) Freshness() Freshness {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked()
}

func (c *Cache) freshnessLocked() Freshness {
	complete, patience := c.completeAsOfLocked(), maxUnconfirmed
	if c.following.current {
		patience = maxSilence
	}
	return Freshness{Stale: time.Since(complete) > patience, LastContact: complete}
}

// completeAsOfLocked returns the time as of which the cache is complete.
func (c *Cache) completeAsOfLocked() time.Time {
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

// Freshness returns how current the replica is: the worst value of the caches that have a snapshot.
// A cache for which the API server returns errors, because the service has lost the permission to
// list the resource or its conversion webhook is down, is left out while there are others: its own
// reads are stale, but the API server is reachable. A hub without snapshots delays no reader, and
// is not stale.
func (h *Hub) Freshness() Freshness {
	var counted, refused []Freshness
	for _, cache := range h.runningCaches() {
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
	return worst(counted, Freshness{LastContact: h.activity.time()})
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

// followed returns how current the cache is, how it follows the API server, and whether it has a
// snapshot.
func (c *Cache) followed() (fresh Freshness, how following, synced bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked(), c.following, c.state.synced
}

// recordRefusalLocked records whether an attempt to list has failed with a response of the API
// server.
func (c *Cache) recordRefusalLocked(err error) {
	var status apierrors.APIStatus
	c.following.refused = errors.As(err, &status)
}

// watchClosed records that no watch is open, because one has ended or is about to be opened.
func (c *Cache) watchClosed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following.asOf = c.completeAsOfLocked()
	c.following.current, c.following.open, c.following.link = false, false, nil
	c.following.disruptions++
}

// listStarted records that a list was requested. Without a version its state is that of now; with
// a version it may be as old as the version.
func (c *Cache) listStarted(version string) {
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
func (c *Cache) watchOpened(lists bool, over *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following.open, c.following.link = true, over
	if !lists {
		c.following.listing, c.following.relisting = false, time.Time{}
		c.startedAfterLocked(c.feed.closed)
	}
	c.startCatchUpLocked()
}

// listAppliedLocked records that a list was applied.
func (c *Cache) listAppliedLocked() {
	asOf := c.following.listedAsOf
	if !c.following.listing {
		asOf = time.Now() // it was not requested here
	}
	if asOf.After(c.following.asOf) {
		c.following.asOf = asOf
	}
	c.following.listing, c.following.relisting, c.following.refused = false, time.Time{}, false
	c.startCatchUpLocked()
}

// markUncertain records that data which arrives over a link from now on may have been delayed since
// the given time.
func (c *Cache) markUncertain(over *link, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.following.link != nil && c.following.link != over {
		return
	}
	if c.following.current {
		c.following.current, c.following.asOf = false, since
	}
	c.following.disruptions++ // a catch-up in progress proves nothing
	c.startCatchUpLocked()
}

func (c *Cache) startCatchUpLocked() {
	select {
	case c.needsCatchUp <- struct{}{}:
	default:
	}
}

// confirmCurrent determines, each time that a watch was opened, when the cache has caught up with
// the API server, and at each bookmark whether the API server has gone back in time. It runs until
// the context ends.
func (c *Cache) confirmCurrent(ctx context.Context) {
	for {
		select {
		case <-c.needsCatchUp:
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
// etcd was restored from a backup, and the open watch does not report that. An older bookmark does
// not prove it, because one API server may lag behind another. A list without a version does: its
// version is not older than anything that any API server has sent before.
func (c *Cache) compareVersions(ctx context.Context) {
	c.mu.RLock()
	following, synced, cached := c.following, c.state.synced, c.feed.version
	c.mu.RUnlock()
	if !following.open || following.listing || !synced {
		return // the next watch is compared when it is open
	}
	version, err := c.history.current(ctx)
	if err != nil || !object.Older(version, cached) {
		return // without a response, the next bookmark asks again
	}
	c.history.relist()
}

// caughtUp asks the API server for its current version, and blocks until the cache has reached it.
// A version older than the cache's shows that the history was undone. The cache is then relisted,
// because the API server accepts a watch from a version that it has not reached yet, and sends
// nothing. caughtUp reports whether there is nothing more to wait for: the cache is current, or
// another watch must be opened first.
func (c *Cache) caughtUp(ctx context.Context) bool {
	c.mu.RLock()
	following, synced, lastSeq, cached := c.following, c.state.synced, c.feed.last, c.feed.version
	c.mu.RUnlock()
	if !following.open || !synced {
		return true // called again when a watch is open
	}
	requested := time.Now()
	version, err := c.history.current(ctx)
	switch {
	case err != nil:
		return false
	case object.Older(version, cached) && following.listing:
		return false // the list shows the present state
	case object.Older(version, cached): // etcd was restored from a backup
		c.history.relist()
		return true
	}
	reached, err := c.awaitFeed(ctx, version, catchUpPatience)
	if err != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.following.disruptions != following.disruptions:
		return true
	case !reached && (c.following.listing || c.feed.last != lastSeq):
		return false
	}
	c.following.current, c.following.asOf, c.following.refused = true, requested, false
	return true
}
