package informerhub

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// A cache learns of its own resource's changes at once, and that there were none only by
// the API server's bookmarks, one a minute. Whoever waits for the version of
// another resource's change would wait for that. So the API server is asked: a second
// watch from where the feed stands, which has nothing to tell up to the version waited
// for, says that the feed is there.

// askAfter is how long to wait for the Reflector's own watch before asking: a change
// of this very resource comes by that.
const askAfter = 100 * time.Millisecond

var errNoProgress = errors.New("the API server has not said how far it is")

// keepAsking asks again and again until the context ends.
func (c *Cache) keepAsking(ctx context.Context) {
	for {
		select {
		case <-time.After(askAfter):
			c.ask(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// ask advances the feed if the API server says that nothing has happened since. One
// asks at a time, for all who wait.
func (c *Cache) ask(ctx context.Context) {
	if !c.asking.TryLock() {
		return
	}
	defer c.asking.Unlock()
	c.mu.RLock()
	from := c.feed.end()
	c.mu.RUnlock()
	version, err := c.history.quietUntil(ctx, from.version)
	if err != nil {
		return // the wait goes on, and tells when it has been too long
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feed.end() == from {
		c.feed.advance(version)
	}
}

// quietUntil implements history.
func (u *upstream) quietUntil(ctx context.Context, since string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, (historySeconds+1)*time.Second)
	defer cancel()
	if _, err := u.current(ctx); err != nil { // brings the API server's own cache up to date
		return "", err
	}
	events, err := u.since(ctx, since)
	if err != nil {
		return "", err
	}
	defer events.Stop()
	select {
	case event := <-events.ResultChan():
		object, ok := event.Object.(*Object)
		if event.Type != watch.Bookmark || !ok {
			return "", errNoProgress
		}
		return object.version, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
