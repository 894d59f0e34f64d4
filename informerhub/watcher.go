package informerhub

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// WatchOptions say how to follow a selection.
type WatchOptions struct {
	// Bookmarks is how long a stream may be quiet before Next returns a Bookmark.
	// Default: 5 seconds.
	Bookmarks time.Duration
	// Since is where to continue; nil to begin with a snapshot.
	Since *Position
	// Patience is how long to wait for a cache that is behind Since while the API
	// server cannot be asked whether it ever was there. After that, Next fails with an
	// [UnavailableError]: to begin anew here would lead the caller back in time.
	Patience time.Duration
}

const defaultBookmarks = 5 * time.Second

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
	// snapshot is the snapshot that is being sent; nil if there is none.
	snapshot *snapshotWalk
	// catchUp is the way from behind the window that is being sent; nil if there is none.
	catchUp *catchUp
	// ahead is a version up to which the caller has been sent everything, by a
	// replica that was ahead of this one; empty if there was none.
	ahead string
	again bool // it must begin again, at its options' position

	// pending is what was read when the context ended, and the batch that was begun of it;
	// nil if there is none.
	pending *pendingBatch

	answered  time.Time // when Next has returned last
	warner    warner
	broken    bool            // the stream cannot be resumed behind what it returned
	to        *Selection      // what it is to go over to; nil if to nothing
	restart   bool            // it goes over by a snapshot
	interrupt <-chan struct{} // see InterruptBy
}

// Watch begins to follow a selection. Call Close when done.
func (c *Cache) Watch(sel *Selection, options WatchOptions) *Watcher {
	if options.Bookmarks <= 0 {
		options.Bookmarks = defaultBookmarks
	}
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

// Next blocks until events are available and returns those that wait, as many as a
// watcher takes at once. A stream begins with Reset, the snapshot in parts, and Synced, and
// so it does again where the feed does not lead on from the watcher's place. For a watcher
// that continues from a position, the first batch is what has happened since, or a
// Bookmark. Next fails when the context ends, and with the error that ended the cache,
// after everything up to then has been delivered.
//
// When its context ends, or a channel that interrupts it is closed, nothing has been
// consumed: the next call goes on from the same place, and the stream has been quiet for
// as long.
func (w *Watcher) Next(ctx context.Context) (Batch, error) {
	batch, err := w.next(ctx)
	if err != nil {
		return Batch{}, err
	}
	w.answered, w.broken = time.Now(), batch.broken
	batch.Warnings = w.warner.warnings(batch, w.options.Bookmarks)
	return batch, nil
}

func (w *Watcher) next(ctx context.Context) (Batch, error) {
	due := false // a Bookmark, if there is nothing else
	switch {
	case w.to != nil:
		if batch, ok, err := w.goOver(ctx); ok || err != nil {
			return batch, err
		}
	case w.topic == nil || w.again:
		if err := w.begin(ctx); err != nil {
			return Batch{}, err
		}
		due = true
	}
	quiet := time.NewTimer(time.Until(w.answered.Add(w.options.Bookmarks)))
	defer quiet.Stop()
	for {
		if w.wide && w.ahead == "" {
			w.narrow()
		}
		next := w.pendingOrRead()
		if next.again {
			w.again = true // history may take its time: until then the caller hears this
			return bookmark(next.position, next.freshness), nil
		}
		batch, err := w.batch(ctx, next)
		switch {
		case err != nil:
			return Batch{}, err
		case len(batch.Events) > 0:
			return batch, nil
		case next.more && ctx.Err() == nil:
			continue // nothing for this selection; there is more
		case next.more:
			return Batch{}, context.Cause(ctx)
		case next.ended != nil:
			return Batch{}, next.ended
		case due || w.broken:
			return bookmark(batch.Position, batch.Freshness), nil
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

// begin finds the watcher's first place in the feed.
func (w *Watcher) begin(ctx context.Context) error {
	w.ahead = ""
	if since := w.options.Since; since != nil && !w.cache.undone(*since) {
		if err := w.prepare(ctx, since.Version); err != nil {
			return err
		}
	}
	w.join()
	return nil
}

// prepare makes ready to continue at a version: one that this replica has not reached
// must have been the API server's, and one from before it began needs history.
func (w *Watcher) prepare(ctx context.Context, version string) error {
	known, err := w.cache.hasBeen(ctx, version)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if err := w.cache.awaitAlone(ctx, version, w.options.Patience, err); err != nil {
			return err
		}
	case known:
		w.ahead = version
	}
	w.cache.recall(ctx, version)
	return nil
}

// join takes the watcher's first place in the feed, and its topic.
func (w *Watcher) join() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	w.snapshot, w.catchUp, w.pending, w.again = nil, nil, nil, false
	w.epoch, w.place = c.feed.epoch.id, c.feed.last
	w.placeLocked()
	w.joinLocked()
}

// placeLocked finds the place to begin at: that of the position to continue at, from
// which every step is sent where the window reaches back to it, and the latest states
// where the log does; or else a snapshot is sent.
func (w *Watcher) placeLocked() {
	feed := w.cache.feed
	since := w.options.Since
	switch {
	case since == nil || feed.undone(*since):
		w.beginSnapshotLocked()
		return
	case older(feed.version, since.Version) && w.ahead == "":
		w.beginSnapshotLocked() // the API server has never been there
		return
	case older(feed.version, since.Version):
		return
	}
	if older(feed.closed, since.Version) {
		w.ahead = since.Version // the other replica has seen all deletions at it
	}
	if place, ok := feed.locateStep(since.Version); ok {
		w.place = place
		return
	}
	if place, ok := feed.log.locate(since.Version, feed.last); ok {
		w.place, w.catchUp = place, &catchUp{since: since.Version, began: place, end: feed.last}
		return
	}
	w.beginSnapshotLocked()
}

// joinLocked takes a topic: a wide one as long as the caller holds states that a
// replica which was ahead has told, and this one does not know.
func (w *Watcher) joinLocked() {
	if w.topic != nil {
		w.cache.feed.topics.leave(w.topic)
	}
	w.wide = w.ahead != ""
	w.topic = w.cache.feed.topics.join(w.selection, w.wide, w.cache.feed.last)
	w.cache.feed.looked.Add(int64(len(w.topic.namespaces)))
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

// reading is what a watcher finds at its place in the feed: changes, or the latest
// states of what has changed where it is behind the window, or nothing yet; and a part of
// a snapshot while it sends one.
type reading struct {
	changes  []change
	states   []latest
	since    uint64   // where the states begin
	catchUp  *catchUp // of the states
	latest   logPart  // that the states are of
	earlier  []latest // deletions that may be among them
	part     *snapshotPart
	position Position
	// freshness is the cache's when it was read.
	freshness Freshness
	more      bool   // there is more to read
	broken    bool   // the stream cannot be resumed behind it
	again     bool   // nothing leads on from here: see skippedLocked
	round     *round // the changes may be shared by those who read the passage
	passage   passage
	grown     <-chan struct{} // if there is not: closed as soon as there is
	ended     error           // if there is not: there never will be
}

// read takes what waits for this watcher, and moves its place behind that.
func (w *Watcher) read() reading {
	taken := w.take()
	if taken.catchUp != nil {
		taken.states = taken.catchUp.complete(taken.latest, taken.earlier)
	}
	return taken
}

func (w *Watcher) take() reading {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if w.epoch != c.feed.epoch.id || w.place < c.feed.log.forgotten {
		w.beginSnapshotLocked()
	}
	if w.snapshot != nil {
		return w.readSnapshotLocked()
	}
	return w.readWaitingLocked(w.endLocked())
}

// readWaitingLocked returns the changes that wait for the watcher, up to an end, or the
// latest states where it is behind the window.
func (w *Watcher) readWaitingLocked(end end) reading {
	if w.catchUp != nil {
		return w.readLatestLocked()
	}
	behind := w.behindLocked(end)
	switch {
	case w.skippedLocked(behind):
		position := w.cache.feed.position(time.Now())
		position.Version = w.ahead
		// The caller lacks what the cache knows, until the API server has been asked.
		return reading{again: true, position: position, freshness: Freshness{Stale: true, LastContact: w.cache.freshnessLocked().LastContact}}
	case behind:
		w.catchUp = &catchUp{began: w.place, end: w.cache.feed.last}
		return w.readLatestLocked()
	}
	return w.readChangesLocked(end)
}

// behindLocked reports whether the window does not hold every change that waits.
func (w *Watcher) behindLocked(end end) bool {
	window := &w.cache.feed.window
	if w.readsAllLocked() {
		return !window.covers(w.place)
	}
	places := w.topic.between(w.place, end.place)
	return len(places) > 0 && places[0] < window.first
}

// readsAllLocked reports whether the topic does not say which changes concern the
// watcher, as it is younger than the watcher's place.
func (w *Watcher) readsAllLocked() bool { return w.place < w.topic.since }

// readChangesLocked returns as many of the changes that wait, up to an end, as the watcher
// takes at once.
func (w *Watcher) readChangesLocked(end end) reading {
	feed := w.cache.feed
	var changes []change
	size, more := 0, false
	for c := range w.waitingLocked(end) {
		if len(changes) == feed.limits.batch || size >= feed.limits.batchBytes {
			more = true
			break
		}
		changes = append(changes, *c)
		size += c.size()
	}
	feed.looked.Add(int64(len(changes)))
	taken := reading{changes: changes, more: more}
	if len(changes) > 0 && w.topic.watchers > 1 {
		taken.round, taken.passage = w.topic.round, passage{w.selection.key, w.place, end.place}
	}
	if !more {
		return w.moveLocked(taken, end)
	}
	last := changes[len(changes)-1]
	taken.passage.to, taken.broken = last.seq, last.seq != last.step
	taken.position = feed.position(time.Now())
	taken.position.Version = last.closes
	if older(last.version, feed.window.at(last.seq+1).version) {
		taken.position.Version = last.version
	}
	w.place = last.seq
	return taken
}

// waitingLocked returns the changes behind the watcher's place, up to an end, that
// concern it, and perhaps others.
func (w *Watcher) waitingLocked(end end) iter.Seq[*change] {
	window := &w.cache.feed.window
	if w.readsAllLocked() {
		return func(yield func(*change) bool) {
			for place := w.place + 1; place <= end.place && yield(window.at(place)); place++ {
			}
		}
	}
	return func(yield func(*change) bool) {
		for _, place := range w.topic.between(w.place, end.place) {
			if !yield(window.at(place)) {
				return
			}
		}
	}
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

// moveLocked moves the watcher's place to an end.
func (w *Watcher) moveLocked(taken reading, to end) reading {
	feed := w.cache.feed
	w.epoch, w.place = feed.epoch.id, to.place
	taken.position = feed.position(time.Now())
	taken.position.Version = to.closed
	taken.freshness = w.cache.freshnessLocked()
	taken.grown = w.topic.round.over
	taken.ended = w.cache.state.ended
	return taken
}

// pendingBatch is a batch that is being made of a reading. What has been matched is no
// longer in the reading.
type pendingBatch struct {
	reading reading
	batch   Batch
}

// pendingOrRead returns what waits for this watcher. What was read by a call whose context has
// ended comes first: the watcher's place is behind it.
func (w *Watcher) pendingOrRead() reading {
	if w.pending != nil {
		return w.pending.reading
	}
	return w.read()
}

// batch is what a reading is for the watcher, made once for all that read the same. If the
// context ends meanwhile, the reading stays pending.
func (w *Watcher) batch(ctx context.Context, taken reading) (Batch, error) {
	var batch Batch
	if w.pending != nil || taken.round == nil || taken.part != nil || w.ahead != "" {
		var err error
		if batch, err = w.ownBatch(ctx, taken); err != nil {
			return Batch{}, err
		}
	} else {
		batch = taken.round.share(taken.passage, func() Batch { return w.sharedBatch(ctx, taken) })
	}
	w.warner.count(batch)
	return batch, nil
}

// ownBatch makes the batch of a reading that no other watcher shares. Long parts of snapshots and of
// latest states take a turn of the processors.
func (w *Watcher) ownBatch(ctx context.Context, taken reading) (Batch, error) {
	if w.pending == nil {
		w.pending = &pendingBatch{reading: taken, batch: batchOf(taken)}
	}
	if w.isLong(taken) {
		within, end, err := fairqueue.Begin(ctx)
		if err != nil {
			return Batch{}, err
		}
		defer end()
		ctx = within
	}
	if err := w.match(ctx, &w.pending.reading, &w.pending.batch); err != nil {
		if ctx.Err() == nil {
			w.pending = nil
		}
		return Batch{}, err
	}
	batch := w.pending.batch
	w.pending = nil
	return batch, nil
}

// isLong reports whether matching a part of a snapshot or of latest states takes a turn of the
// processors. Few objects are matched in less time than others' turns take.
func (w *Watcher) isLong(taken reading) bool {
	switch {
	case taken.part == nil && taken.catchUp == nil:
		return false
	case w.selection.filter != nil || taken.part == nil:
		return true
	}
	return len(taken.part.objects) > shortWork
}

// sharedBatch makes the batch of a reading for all watchers that share it. It neither ends when
// one of them leaves, nor waits for a turn: others wait for it. It is one batch of changes.
func (w *Watcher) sharedBatch(ctx context.Context, taken reading) Batch {
	batch := batchOf(taken)
	_ = w.match(context.WithoutCancel(ctx), &taken, &batch) // fails for snapshots and ended contexts only
	return batch
}

func batchOf(taken reading) Batch {
	return Batch{Position: taken.position, Freshness: taken.freshness, broken: taken.broken, latest: taken.catchUp != nil}
}

// match adds to a batch what a reading is under the watcher's selection, and takes it from the
// reading.
func (w *Watcher) match(ctx context.Context, from *reading, to *Batch) error {
	if err := w.matchChanges(ctx, from, to); err != nil {
		return err
	}
	if err := w.matchStates(ctx, from, to); err != nil {
		return err
	}
	if from.part != nil {
		if err := from.part.complete(ctx, to, w.selection); err != nil {
			return err
		}
	}
	w.catchUpAhead(to)
	return nil
}

func (w *Watcher) matchChanges(ctx context.Context, from *reading, to *Batch) error {
	for i := 0; len(from.changes) > 0; i++ {
		if err := w.yield(ctx, i); err != nil {
			return err
		}
		step := from.changes[0]
		from.changes = from.changes[1:]
		if from.part != nil && !from.part.passed.passed(step.object()) {
			continue
		}
		if event, ok := w.selection.see(step, &to.unvalued); ok && !w.told(event) {
			to.Events = append(to.Events, w.certain(event))
		}
	}
	return nil
}

func (w *Watcher) matchStates(ctx context.Context, from *reading, to *Batch) error {
	for i := 0; len(from.states) > 0; i++ {
		if err := w.yield(ctx, i); err != nil {
			return err
		}
		state := from.states[0]
		from.states = from.states[1:]
		if from.part != nil && !from.part.passed.passed(state.object) {
			continue
		}
		if event, ok := w.selection.catchUp(state, from.catchUp.heldAt(state, from.since), &to.unvalued); ok && !w.told(event) {
			to.Events = append(to.Events, event)
		}
	}
	return nil
}

// yield yields before the i-th step of a loop over objects: before each where there is a
// filter, which may take a millisecond.
func (w *Watcher) yield(ctx context.Context, i int) error {
	if w.selection.filter == nil && i%stepsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}

// skippedLocked reports whether the feed has gone past the version that the caller comes
// from without every step there, by a relist or because the window has gone on: what
// the caller holds is a state between the two that are known here. Then the watcher must
// begin again, at that version.
func (w *Watcher) skippedLocked(behind bool) bool {
	feed := w.cache.feed
	return w.ahead != "" && older(w.ahead, feed.version) && (behind || feed.log.gapAt(w.ahead) != nil)
}

// told reports whether the caller has been sent an event by another replica.
func (w *Watcher) told(event Event) bool {
	return w.ahead != "" && !older(w.ahead, event.ResourceVersion)
}

// certain returns an event without what the caller held before, if that is not certain:
// as long as it holds what a replica that was ahead has sent.
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
