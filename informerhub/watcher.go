package informerhub

import (
	"context"
	"errors"
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
// held, or no more than its head; ResourceVersion is that of the event itself.
type Event struct {
	Type            EventType
	Object          *Object
	ResourceVersion string
	// Before is, for Modified, the state that the reader holds. Nil where that is not
	// known for certain: in latest states, beside what another replica has told, and on
	// the way to another selection.
	Before *Object

	step uint64 // see change
}

// Batch is all that waited for a watcher.
type Batch struct {
	Events []Event
	// Position is behind the last event.
	Position Position
	// Warnings are what people should know of the stream: objects that the filter has no
	// value for, in the snapshot or since the last warning.
	Warnings []string

	snapshot bool
	latest   bool // the events are latest states rather than steps
	broken   bool // the batch ends within a step
	rescoped bool // the events lead to another selection
	unvalued leftOut
	shared   *sharedBatch
	err      error // there is no batch
}

// PositionAfter is the position behind one of the events; false if a stream cannot
// be resumed there: within a snapshot, within latest states, on the way to another
// selection, and within what was told in one step.
func (b Batch) PositionAfter(i int) (Position, bool) {
	switch {
	case i == len(b.Events)-1:
		return b.Position, !b.broken
	case b.snapshot || b.latest || b.rescoped || b.Events[i].step == b.Events[i+1].step:
		return Position{}, false
	}
	position := b.Position
	position.Version = b.Events[i].ResourceVersion
	return position, true
}

// WatchOptions say how to follow a selection.
type WatchOptions struct {
	// Bookmarks is how long a stream may be quiet before Next answers a Bookmark.
	Bookmarks time.Duration
	// Since is where to continue; nil to begin with a snapshot.
	Since *Position
	// Patience is how long to wait for a cache that is behind Since while the API
	// server cannot be asked whether it ever was there. After that, the stream
	// begins anew.
	Patience time.Duration
}

// maxBatch bounds how many changes a watcher takes from the feed at once.
const maxBatch = 1024

// Watcher follows a selection. It is a place in the cache's feed and nothing more:
// it has no queue and no goroutine, and cannot slow the cache or another watcher.
// It is not safe for concurrent use.
type Watcher struct {
	cache     *Cache
	selection *Selection
	options   WatchOptions

	topic *topic // what it is woken for; nil before the first read
	wide  bool   // it is a wide one
	epoch uint64
	place uint64
	// ahead is a version up to which the caller has been told everything, by a
	// replica that was ahead of this one; empty if there was none.
	ahead string
	again bool // it must begin again, at its options' position

	answered  time.Time // when Next has answered last
	warner    warner
	to        *Selection      // what it is to go over to; nil if to nothing
	interrupt <-chan struct{} // see InterruptBy
}

// Watch begins to follow a selection. Call Close when done.
func (c *Cache) Watch(sel *Selection, options WatchOptions) *Watcher {
	return &Watcher{cache: c, selection: sel, options: options}
}

// Close takes the watcher off the cache.
func (w *Watcher) Close() {
	if w.topic == nil {
		return
	}
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.cache.feed.topics.leave(w.topic)
	w.topic = nil
}

// Next waits for events and answers all that wait. The first answer is Reset, the
// snapshot and Synced, and so is a later one where the feed does not lead on from
// the last. For a watcher that continues from a position, the first answer is what
// has happened since, or a Bookmark. It ends with the
// context, or with the error that ended the cache, after everything up to then has
// been delivered.
//
// When its context ends, or that which interrupts it, nothing has been consumed: the
// next call goes on from the same place, and the stream has been quiet for as long.
func (w *Watcher) Next(ctx context.Context) (Batch, error) {
	batch, err := w.next(ctx)
	if err == nil {
		err = batch.err
	}
	if err != nil {
		return Batch{}, err
	}
	w.answered = time.Now()
	batch.Warnings = w.warner.warnings(batch, w.options.Bookmarks)
	return batch, nil
}

func (w *Watcher) next(ctx context.Context) (Batch, error) {
	if w.to != nil {
		return w.goOver(), nil
	}
	if w.topic == nil || w.again {
		return w.begin(ctx)
	}
	quiet := time.NewTimer(time.Until(w.answered.Add(w.options.Bookmarks)))
	defer quiet.Stop()
	for due := false; ; {
		if w.wide && w.ahead == "" {
			w.narrow()
		}
		next := w.read()
		if next.again {
			w.again = true // history may take its time: until then the caller hears this
			return bookmark(next.position), nil
		}
		batch := w.batch(next)
		switch {
		case len(batch.Events) > 0 || batch.err != nil:
			return batch, nil
		case next.more:
			continue // nothing for this selection; there is more
		case next.ended != nil:
			return Batch{}, next.ended
		case due:
			return bookmark(batch.Position), nil
		}
		select {
		case <-next.grown:
		case <-quiet.C:
			due = true
		case <-w.interrupt:
			return Batch{}, ErrInterrupted
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
	}
}

// ErrInterrupted is what Next answers when it is interrupted.
var ErrInterrupted = errors.New("the watcher was interrupted")

// InterruptBy has Next answer [ErrInterrupted], where it would wait for events, when a
// channel is closed. Nil is never closed.
func (w *Watcher) InterruptBy(interrupt <-chan struct{}) { w.interrupt = interrupt }

// begin finds the watcher's first place in the feed, and answers what leads there.
func (w *Watcher) begin(ctx context.Context) (Batch, error) {
	w.ahead = ""
	if since := w.options.Since; since != nil {
		if err := w.prepare(ctx, since.Version); err != nil {
			return Batch{}, err
		}
	}
	first := w.batch(w.join())
	if len(first.Events) == 0 && first.err == nil {
		return bookmark(first.Position), nil
	}
	return first, nil
}

// bookmark says that everything up to a position has been told.
func bookmark(position Position) Batch {
	return Batch{Events: []Event{{Type: Bookmark, ResourceVersion: position.Version}}, Position: position}
}

// prepare makes ready to continue at a version: one that this replica has not reached
// must have been the API server's, and one from before it began needs history.
func (w *Watcher) prepare(ctx context.Context, version string) error {
	known, err := w.cache.hasBeen(ctx, version)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if _, err := w.cache.await(ctx, version, w.options.Patience); err != nil {
			return err
		}
	case known:
		w.ahead = version
	}
	w.cache.recall(ctx, version)
	return nil
}

// join takes the watcher's first place in the feed, and its topic.
func (w *Watcher) join() reading {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	first := w.firstLocked()
	w.joinLocked()
	w.again = false
	w.epoch, w.place = c.feed.epoch.id, c.feed.last
	first.position = c.feed.position(time.Now())
	return first
}

// joinLocked takes a topic: a wide one as long as the caller holds states that a
// replica which was ahead has told, and this one does not know.
func (w *Watcher) joinLocked() {
	if w.topic != nil {
		w.cache.feed.topics.leave(w.topic)
	}
	w.wide = w.ahead != ""
	w.topic = w.cache.feed.topics.join(w.selection, w.wide, w.cache.feed.last)
}

// narrow changes a wide topic for a narrow one, at the feed's end.
func (w *Watcher) narrow() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.place == c.feed.last && w.epoch == c.feed.epoch.id {
		w.joinLocked()
	}
}

// firstLocked is what leads to the feed's end: from the position to continue at, in
// every step where the window reaches back to it, in latest states where the log
// does, or else from nothing.
func (w *Watcher) firstLocked() reading {
	feed := w.cache.feed
	since := w.options.Since
	switch {
	case since == nil || feed.undone(*since):
		return w.snapshotLocked()
	case older(feed.version, since.Version) && w.ahead == "":
		return w.snapshotLocked() // nobody has ever been there
	case older(feed.version, since.Version):
		return reading{}
	}
	if place, ok := feed.locateStep(since.Version); ok {
		return reading{changes: append([]change(nil), feed.window.after(place)...)}
	}
	if place, ok := feed.log.locate(since.Version); ok {
		return reading{states: feed.log.since(since.Version, place), since: place}
	}
	return w.snapshotLocked()
}

func (w *Watcher) snapshotLocked() reading {
	w.ahead = ""
	taken := w.cache.candidatesLocked(w.selection)
	return reading{snapshot: &taken}
}

// reading is what a watcher finds at its place in the feed: changes, or the latest
// states of what has changed where it is behind the window, or a snapshot where it
// is in another epoch, or nothing yet.
type reading struct {
	changes  []change
	states   []latest
	since    uint64 // where the states begin
	snapshot *Snapshot
	position Position
	more     bool   // there is more to read
	broken   bool   // the changes end within a step
	again    bool   // nothing leads on from here: see skippedLocked
	round    *round // the changes may be shared by those who read the passage
	passage  passage
	grown    <-chan struct{} // if there is not: closed as soon as there is
	ended    error           // if there is not: there never will be
}

// read takes what waits for this watcher, and moves its place behind that.
func (w *Watcher) read() reading {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if w.epoch != c.feed.epoch.id || w.place < c.feed.log.forgotten {
		return w.atEndLocked(w.snapshotLocked())
	}
	end := w.endLocked()
	places := w.topic.between(w.place, end.place)
	behind := w.place < w.topic.since || len(places) > 0 && places[0] < c.feed.window.first
	switch {
	case w.skippedLocked(behind):
		position := c.feed.position(time.Now())
		position.Version = w.ahead
		return reading{again: true, position: position}
	case behind:
		return w.atEndLocked(reading{states: c.feed.log.after(w.place), since: w.place})
	case len(places) == 0:
		return w.moveLocked(reading{}, end)
	case len(places) > maxBatch:
		w.place = places[maxBatch-1]
		taken := reading{changes: c.feed.window.pick(places[:maxBatch]), more: true}
		last := taken.changes[maxBatch-1]
		taken.position = c.feed.position(time.Now())
		taken.position.Version = last.version
		taken.broken = last.seq != last.step
		return taken
	}
	taken := reading{changes: c.feed.window.pick(places)}
	if w.topic.watchers > 1 {
		taken.round, taken.passage = w.topic.round, passage{w.selection.key, w.place, end.place}
	}
	return w.moveLocked(taken, end)
}

// endLocked is as far as the watcher may read: to the feed's end, unless its topic is
// held. One that has read on behind that, as latest states lead to the feed's end,
// is not held.
func (w *Watcher) endLocked() end {
	if held := w.topic.pace; held.held && w.place <= held.end.place {
		return held.end
	}
	return w.cache.feed.end()
}

// atEndLocked moves the watcher's place to the feed's end.
func (w *Watcher) atEndLocked(taken reading) reading {
	return w.moveLocked(taken, w.cache.feed.end())
}

// moveLocked moves the watcher's place to an end.
func (w *Watcher) moveLocked(taken reading, to end) reading {
	feed := w.cache.feed
	w.epoch, w.place = feed.epoch.id, to.place
	taken.position = feed.position(time.Now())
	taken.position.Version = to.version
	taken.grown = w.topic.round.over
	taken.ended = w.cache.state.ended
	return taken
}

// batch is what a reading is for the watcher, made once for all that read the same.
func (w *Watcher) batch(taken reading) Batch {
	var batch Batch
	if taken.round == nil || w.ahead != "" {
		batch = w.visible(taken)
	} else {
		batch = taken.round.share(taken.passage, func() Batch { return w.visible(taken) })
	}
	w.warner.count(batch)
	return batch
}

// visible is what a reading is under the watcher's selection.
func (w *Watcher) visible(taken reading) Batch {
	batch := Batch{Position: taken.position, broken: taken.broken}
	if taken.snapshot != nil {
		batch.snapshot = true
		// It is not interrupted: the watcher's place is behind the snapshot already.
		snapshot, err := taken.snapshot.matching(context.Background(), w.selection)
		if err != nil {
			return Batch{err: err}
		}
		batch.Events, batch.unvalued = w.selection.snapshotEvents(snapshot), snapshot.unvalued
		return batch
	}
	batch.latest = taken.states != nil
	for _, step := range taken.changes {
		if event, ok := w.selection.see(step, &batch.unvalued); ok && !w.told(event) {
			batch.Events = append(batch.Events, w.certain(event))
		}
	}
	for _, state := range taken.states {
		if event, ok := w.selection.catchUp(state, taken.since, &batch.unvalued); ok && !w.told(event) {
			batch.Events = append(batch.Events, event)
		}
	}
	w.catchUpAhead(&batch)
	return batch
}

// skippedLocked reports whether the feed has gone past the version that the caller comes
// from without every step there, by a relist or because the window has gone on: what
// the caller holds is a state between the two that are known here. Then the watcher must
// begin again, at that version.
func (w *Watcher) skippedLocked(behind bool) bool {
	feed := w.cache.feed
	return w.ahead != "" && older(w.ahead, feed.version) && (behind || feed.log.gapAt(w.ahead) != nil)
}

// told reports whether the caller has been told of an event by another replica.
func (w *Watcher) told(event Event) bool {
	return w.ahead != "" && !older(w.ahead, event.ResourceVersion)
}

// certain is an event without what the caller held before, if that is not certain: as
// long as it holds what a replica that was ahead has told.
func (w *Watcher) certain(event Event) Event {
	if w.ahead != "" {
		event.Before = nil
	}
	return event
}

// catchUpAhead keeps the position from going back while this replica is behind the
// one that the caller comes from.
func (w *Watcher) catchUpAhead(batch *Batch) {
	switch version := batch.Position.Version; {
	case w.ahead == "":
	case older(version, w.ahead):
		batch.Position.Version = w.ahead
	case !batch.broken || older(w.ahead, version):
		w.ahead = ""
	}
}

// snapshotEvents tell a snapshot of what a selection holds.
func (s *Selection) snapshotEvents(snapshot Snapshot) []Event {
	events := make([]Event, 0, len(snapshot.Objects)+2)
	events = append(events, Event{Type: Reset, ResourceVersion: snapshot.ResourceVersion})
	for _, object := range snapshot.Objects {
		events = append(events, Event{Type: Added, Object: object.Masked(s.fields), ResourceVersion: object.version})
	}
	return append(events, Event{Type: Synced, ResourceVersion: snapshot.ResourceVersion})
}

// see is what a change is under a selection; false if it is none.
func (s *Selection) see(step change, unvalued *leftOut) (Event, bool) {
	before := step.before != nil && s.Matches(step.before)
	after := step.after != nil && s.holds(step.after, unvalued)
	event := Event{Object: step.after, ResourceVersion: step.version, step: step.step}
	switch {
	case before && after && sameUnder(s.fields, step.before, step.after):
		return Event{}, false
	case before && after:
		event.Type, event.Before = Modified, step.before
	case after:
		event.Type = Added
	case before:
		event.Type, event.Object = Deleted, step.before
	default:
		return Event{}, false
	}
	event.Object, event.Before = event.Object.Masked(s.fields), event.Before.Masked(s.fields)
	return event, true
}

// catchUp is what the latest state of something that has changed behind a place is
// under a selection. What the selection held at that place is not known any more:
// so Modified may name an object that it did not hold, or one that is the same under the
// selection's mask, and Deleted what it did not hold as well, without content.
func (s *Selection) catchUp(state latest, place uint64, unvalued *leftOut) (Event, bool) {
	madeSince := state.made > place
	held := !state.deleted && s.holds(state.object, unvalued)
	event := Event{Object: state.object.Masked(s.fields), ResourceVersion: state.version}
	switch {
	case held && madeSince:
		event.Type = Added
	case held:
		event.Type = Modified
	case madeSince || !s.names(state.object):
		return Event{}, false
	default:
		event.Type, event.Object = Deleted, gone(state.object, state.object.uid, state.version)
	}
	return event, true
}
