package informerhub

import (
	"context"
	"time"
)

// EventType says what has happened.
type EventType uint8

// The types of events. They mean what kubeconnect.v1.EventType says.
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Reset
	Synced
	Bookmark
)

// Event is one step in the history of a selection. Object is nil for Reset,
// Synced and Bookmark. The object of Deleted is the last one that the selection
// held; ResourceVersion is that of the event itself.
type Event struct {
	Type            EventType
	Object          *Object
	ResourceVersion string
}

// maxBatch bounds how many changes a watcher takes from the feed at once.
const maxBatch = 1024

// Watcher follows a selection. It is a place in the cache's feed and nothing
// more: it costs nothing while nobody calls Next, and cannot slow the cache or
// another watcher. It is not safe for concurrent use.
type Watcher struct {
	cache     *Cache
	selection *Selection
	bookmarks time.Duration

	started bool
	epoch   uint64
	place   uint64
}

// Watch begins to follow a selection. bookmarks is how long a stream may be
// quiet before Next answers a Bookmark.
func (c *Cache) Watch(sel *Selection, bookmarks time.Duration) *Watcher {
	return &Watcher{cache: c, selection: sel, bookmarks: bookmarks}
}

// Next waits for events and answers all that wait. The first answer is Reset, the
// snapshot and Synced, and so is a later one where the feed does not lead on from
// the last. It ends with the context, or with the error that ended the cache,
// after everything up to then has been delivered.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	quiet := time.NewTimer(w.bookmarks)
	defer quiet.Stop()
	for {
		events, grown, err := w.take()
		if len(events) > 0 || err != nil {
			return events, err
		}
		select {
		case <-grown:
		case <-quiet.C:
			return w.bookmark(), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take reads what waits. If nothing does, grown is closed as soon as there is
// more to read.
func (w *Watcher) take() (events []Event, grown <-chan struct{}, err error) {
	for {
		changes, snapshot, grown, err := w.read()
		switch {
		case snapshot != nil:
			return snapshotEvents(*snapshot), nil, nil
		case len(changes) == 0:
			return nil, grown, err
		}
		if events := w.visible(changes); len(events) > 0 {
			return events, nil, nil
		}
	}
}

// read takes the next changes out of the feed or, where it does not lead on from
// this watcher's place, a snapshot.
func (w *Watcher) read() (changes []change, snapshot *Snapshot, grown <-chan struct{}, err error) {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !w.started || !c.feed.holds(w.epoch, w.place) {
		taken := c.snapshotLocked(w.selection)
		w.started, w.epoch, w.place = true, c.feed.epoch, c.feed.end()
		return nil, &taken, nil, nil
	}
	changes = c.feed.read(w.place, maxBatch)
	w.place += uint64(len(changes))
	return changes, nil, c.feed.grown, c.state.ended
}

// bookmark tells that everything up to the feed's version has been delivered;
// nothing, if there is more to read after all.
func (w *Watcher) bookmark() []Event {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.feed.holds(w.epoch, w.place) || w.place != c.feed.end() {
		return nil
	}
	return []Event{{Type: Bookmark, ResourceVersion: c.feed.version}}
}

func snapshotEvents(snapshot Snapshot) []Event {
	events := make([]Event, 0, len(snapshot.Objects)+2)
	events = append(events, Event{Type: Reset, ResourceVersion: snapshot.ResourceVersion})
	for _, object := range snapshot.Objects {
		events = append(events, Event{Added, object, object.version})
	}
	return append(events, Event{Type: Synced, ResourceVersion: snapshot.ResourceVersion})
}

// visible is what the changes are under the watcher's selection.
func (w *Watcher) visible(changes []change) []Event {
	var events []Event
	for _, step := range changes {
		before := step.before != nil && w.selection.Matches(step.before)
		after := step.after != nil && w.selection.Matches(step.after)
		switch {
		case before && after:
			events = append(events, Event{Modified, step.after, step.version})
		case after:
			events = append(events, Event{Added, step.after, step.version})
		case before:
			events = append(events, Event{Deleted, step.before, step.version})
		}
	}
	return events
}
