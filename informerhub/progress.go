package informerhub

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// A cache receives its own resource's changes at once. That there were none, it learns only from
// the API server's bookmarks, once a minute. A caller that waits for the version of another
// resource's change would wait that long. So the API server is asked: if a second watch from the
// feed's version has no events up to the awaited version, the feed has reached it.

// askProgressAfter is the time to wait for the Reflector's own watch before asking. A change of
// this resource arrives through that watch.
const askProgressAfter = 100 * time.Millisecond

// keepAskingProgress asks repeatedly until the context ends.
func (c *Cache) keepAskingProgress(ctx context.Context) {
	for pause(ctx, askProgressAfter) {
		c.askProgress(ctx)
	}
}

// askProgress advances the feed if the API server reports that there were no changes since. Only
// one request runs at a time, for all waiting callers.
func (c *Cache) askProgress(ctx context.Context) {
	if !c.progressMu.TryLock() {
		return
	}
	defer c.progressMu.Unlock()
	c.mu.RLock()
	from := c.feed.end()
	c.mu.RUnlock()
	version, err := c.history.progress(ctx, from.closed, c.hasApplied)
	if err != nil {
		return // callers keep waiting, and time out in the end
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A list that is in progress may be of an older version, and would look like one of another
	// history.
	if c.feed.end() == from && !c.following.listing {
		c.feed.advance(version)
	}
}

// hasApplied reports whether the cache has applied an event of the API server.
func (c *Cache) hasApplied(event watch.Event) bool {
	state, ok := event.Object.(*Object)
	if !ok {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if object.Older(c.feed.version, state.ResourceVersion()) {
		return false
	}
	cached := c.store.get(state.Namespace(), state.Name())
	if event.Type == watch.Deleted {
		return cached == nil || cached.UID() != state.UID()
	}
	return cached != nil && cached.UID() == state.UID() && !object.Older(cached.ResourceVersion(), state.ResourceVersion())
}

// closeAfter is the time for which a deletion may be the last change before the API server is asked
// whether it was the only one at its version. With other traffic, the next change shows that.
const closeAfter = time.Second

// maxClosePause bounds the pause until the API server is asked again after it did not respond.
const maxClosePause = time.Minute

// closeVersions asks the API server whether everything at the feed's version is known, until the
// context ends. It does so when nothing else has shown that for a while and there are watchers.
// Without a response their bookmarks stay at the version before.
func (c *Cache) closeVersions(ctx context.Context) {
	for {
		select {
		case <-c.feed.versionOpened:
		case <-ctx.Done():
			return
		}
		for wait := closeAfter; c.isOpen(); wait = min(2*wait, maxClosePause) {
			if !pause(ctx, wait) {
				return
			}
			if c.isOpen() && c.watched() {
				c.askProgress(ctx)
			}
		}
	}
}

// isOpen reports whether there may be more changes at the version that the cache has reached.
func (c *Cache) isOpen() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.closed != c.feed.version
}

// progress implements history.
func (u *upstream) progress(ctx context.Context, since string, known func(watch.Event) bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, (historySeconds+1)*time.Second)
	defer cancel()
	if _, err := u.current(ctx); err != nil { // brings the API server's own cache up to date
		return "", err
	}
	events, err := u.watchSince(ctx, since)
	if err != nil {
		return "", err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, ok := event.Object.(*Object)
		switch {
		case ok && event.Type == watch.Bookmark:
			return object.ResourceVersion(), nil
		case !known(event):
			return "", errNoProgress
		}
	}
	return "", errNoProgress
}
