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
	for due := false; ; {
		next := w.read()
		events := w.visible(next)
		switch {
		case len(events) > 0:
			return events, nil
		case len(next.changes) > 0:
			continue // nothing for this selection; there may be more
		case next.ended != nil:
			return nil, next.ended
		case due:
			return []Event{{Type: Bookmark, ResourceVersion: next.version}}, nil
		}
		select {
		case <-next.grown:
		case <-quiet.C:
			due = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// reading is what a watcher finds at its place in the feed: changes, or a snapshot
// where the feed does not lead on from there, or nothing yet.
type reading struct {
	changes  []change
	snapshot *Snapshot
	version  string          // if there is nothing: all up to it has been read
	grown    <-chan struct{} // closed as soon as there is more
	ended    error           // if there is nothing: there never will be
}

// read takes what waits for this watcher, and moves its place behind that.
func (w *Watcher) read() reading {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !w.started || !c.feed.holds(w.epoch, w.place) {
		taken := c.candidatesLocked(w.selection)
		w.started, w.epoch, w.place = true, c.feed.epoch, c.feed.end()
		return reading{snapshot: &taken}
	}
	changes := c.feed.read(w.place, maxBatch)
	w.place += uint64(len(changes))
	return reading{changes: changes, version: c.feed.version, grown: c.feed.grown, ended: c.state.ended}
}

// visible is what a reading is under the watcher's selection.
func (w *Watcher) visible(next reading) []Event {
	if next.snapshot != nil {
		return snapshotEvents(next.snapshot.matching(w.selection))
	}
	var events []Event
	for _, step := range next.changes {
		if event, ok := w.selection.see(step); ok {
			events = append(events, event)
		}
	}
	return events
}

func snapshotEvents(snapshot Snapshot) []Event {
	events := make([]Event, 0, len(snapshot.Objects)+2)
	events = append(events, Event{Type: Reset, ResourceVersion: snapshot.ResourceVersion})
	for _, object := range snapshot.Objects {
		events = append(events, Event{Added, object, object.version})
	}
	return append(events, Event{Type: Synced, ResourceVersion: snapshot.ResourceVersion})
}

// see is what a change is under a selection; false if it is none.
func (s *Selection) see(step change) (Event, bool) {
	before := step.before != nil && s.Matches(step.before)
	after := step.after != nil && s.Matches(step.after)
	switch {
	case before && after:
		return Event{Modified, step.after, step.version}, true
	case after:
		return Event{Added, step.after, step.version}, true
	case before:
		return Event{Deleted, step.before, step.version}, true
	}
	return Event{}, false
}
