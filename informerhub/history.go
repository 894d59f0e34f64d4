package informerhub

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A cache that has just started knows what there is, and since which version each
// object has been as it is, but not what was deleted before. Whoever comes with an
// older position needs that: the API server's own history tells it, as far back as
// that goes. So a restart of the service is not a storm of snapshots.

// recallSeconds is how long the API server may take to tell its history. It sends a
// bookmark shortly before the end of such a watch, which says that all is told.
const recallSeconds = 4

// recall makes the feed's log reach back to a version, if the API server can tell
// what has happened since. Failing that, the stream begins anew.
func (c *Cache) recall(ctx context.Context, version string) {
	c.recalling.Lock() // one at a time; those who wait mostly find it done
	defer c.recalling.Unlock()
	floor, needed := c.forgottenSince(version)
	if !needed || c.history == nil {
		return
	}
	deleted, err := c.history(ctx, version, floor)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feed.log.floor == floor {
		c.feed.log.remember(deleted, version)
	}
}

// forgottenSince answers from which version on the log is whole, and whether that is
// too late for a position.
func (c *Cache) forgottenSince(version string) (floor string, needed bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, found := c.feed.locate(version)
	return c.feed.log.floor, !found && !older(c.feed.version, version)
}

var errHistoryEnded = errors.New("the API server ended its history early")

// deletions are what was deleted from a version up to another, oldest first.
func (u *upstream) deletions(ctx context.Context, since, until string) ([]latest, error) {
	ctx, cancel := context.WithTimeout(ctx, (recallSeconds+1)*time.Second)
	defer cancel()
	seconds := int64(recallSeconds)
	events, err := u.request(metav1.ListOptions{
		ResourceVersion:     since,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
		Watch:               true,
	}).Watch(ctx)
	if err != nil {
		return nil, err
	}
	defer events.Stop()
	var deleted []latest
	for event := range events.ResultChan() {
		object, ok := event.Object.(*Object)
		if !ok {
			return nil, errHistoryEnded // a Status: the history does not go back that far
		}
		if older(until, object.version) {
			return deleted, nil
		}
		if event.Type == watch.Deleted {
			deleted = append(deleted, latest{object: headOnly(object), deleted: true, version: object.version})
		}
		if object.version == until {
			return deleted, nil
		}
	}
	return nil, errHistoryEnded
}
