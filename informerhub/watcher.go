package informerhub

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// WatchOptions configure a watcher.
type WatchOptions struct {
	// Bookmarks is the quiet period after which Next returns a Bookmark. Default: 5 seconds.
	Bookmarks time.Duration
	// Since is the position to resume from; nil to begin with a snapshot.
	Since *Position
	// Patience bounds the wait for a cache that is older than Since, while the API server cannot be
	// asked whether it has ever reached that version. After that, Next fails with an
	// [UnavailableError]: beginning with a snapshot would take the caller back in time.
	Patience time.Duration
}

const defaultBookmarks = 5 * time.Second

// Watcher follows a selection. It is only a cursor in the cache's feed: it has no queue and no
// goroutine, and cannot slow down the cache or another watcher. It is not safe for concurrent use.
type Watcher struct {
	cache     *Cache
	selection *Selection
	options   WatchOptions

	group  *watcherGroup // wakes the watcher; nil before the first read
	broad  bool          // group is a broad one
	epoch  uint64
	cursor uint64
	// snapshot is the snapshot that is being sent; nil if there is none.
	snapshot *snapshotWalk
	// catchUp is the delivery of latest states that is in progress; nil if there is none.
	catchUp *catchUp
	// deliveredThrough is the version up to which another replica, which was ahead of this one, has
	// delivered
	// everything to the caller; empty if there is none.
	deliveredThrough string
	needsResync      bool // it must resync from its options' position

	// pending is what was read when the context ended, with the batch that was begun for it; nil if
	// there is none.
	pending *pendingBatch

	lastBatchAt    time.Time // when Next last returned
	warner         warner
	unresumable    bool            // the stream cannot be resumed after the last returned batch
	nextSelection  *Selection      // the selection to switch to; nil if there is none
	nextBySnapshot bool            // switch with a snapshot
	interrupt      <-chan struct{} // see InterruptBy
}

// Watch returns a watcher of a selection. Call Close when done.
func (c *Cache) Watch(sel *Selection, options WatchOptions) *Watcher {
	if options.Bookmarks <= 0 {
		options.Bookmarks = defaultBookmarks
	}
	return &Watcher{cache: c, selection: sel, options: options}
}

// Close removes the watcher from the cache.
func (w *Watcher) Close() {
	if w.group == nil {
		return
	}
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.cache.feed.watchers.leave(w.group)
	w.group = nil
}

// Next blocks until events are available and returns the pending ones, at most as many as a watcher
// takes at once. A stream begins with Reset, the snapshot in parts, and Synced. It does so again
// when the feed cannot continue from the watcher's cursor. For a watcher that resumes from a
// position, the first batch has the events since then, or a Bookmark. Next fails when the context
// ends. It fails with the error that ended the cache, after all events up to the end have been
// delivered.
//
// If the context ends, or the interrupting channel is closed, no event is consumed: the next call
// resumes at the same cursor, and the bookmark timer keeps running.
func (w *Watcher) Next(ctx context.Context) (Batch, error) {
	batch, err := w.next(ctx)
	if err != nil {
		return Batch{}, err
	}
	w.lastBatchAt, w.unresumable = time.Now(), batch.unresumable
	batch.Warnings = w.warner.warnings(batch, w.options.Bookmarks)
	return batch, nil
}

func (w *Watcher) next(ctx context.Context) (Batch, error) {
	due := false // a Bookmark is due, if there is nothing else
	switch {
	case w.nextSelection != nil:
		if batch, ok, err := w.switchSelection(ctx); ok || err != nil {
			return batch, err
		}
	case w.group == nil || w.needsResync:
		if err := w.begin(ctx); err != nil {
			return Batch{}, err
		}
		due = true
	}
	bookmarkTimer := time.NewTimer(time.Until(w.lastBatchAt.Add(w.options.Bookmarks)))
	defer bookmarkTimer.Stop()
	for {
		if w.broad && w.deliveredThrough == "" {
			w.narrowGroup()
		}
		next := w.pendingOrPoll()
		if next.needsResync {
			w.needsResync = true // reading history may take a while: until then the caller receives this
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
		case due || w.unresumable:
			return bookmark(batch.Position, batch.Freshness), nil
		}
		select {
		case <-next.advanced:
		case <-bookmarkTimer.C:
			due = true
		case <-w.interrupt:
			return Batch{}, ErrInterrupted
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
	}
}

// ErrInterrupted is the error of an interrupted Next.
var ErrInterrupted = errors.New("the watcher was interrupted")

// InterruptBy makes Next return [ErrInterrupted] instead of waiting for events, once the channel is
// closed. A nil channel never interrupts.
func (w *Watcher) InterruptBy(interrupt <-chan struct{}) { w.interrupt = interrupt }

// begin sets the watcher's first cursor.
func (w *Watcher) begin(ctx context.Context) error {
	w.deliveredThrough = ""
	if since := w.options.Since; since != nil && !w.cache.undone(*since) {
		if err := w.prepare(ctx, since.Version); err != nil {
			return err
		}
	}
	w.join()
	return nil
}

// prepare checks that the watcher can resume at a version. A version that this replica has not
// reached must be one that the API server has reached, and one from before the log began needs
// history.
func (w *Watcher) prepare(ctx context.Context, version string) error {
	reached, err := w.cache.hasReached(ctx, version)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if err := w.cache.awaitWithoutAPIServer(ctx, version, w.options.Patience, err); err != nil {
			return err
		}
	case reached:
		w.deliveredThrough = version
	}
	w.cache.backfill(ctx, version)
	return nil
}

// join sets the watcher's first cursor and its group.
func (w *Watcher) join() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	w.snapshot, w.catchUp, w.pending, w.needsResync = nil, nil, nil, false
	w.epoch, w.cursor = c.feed.epoch.id, c.feed.last
	w.setCursorLocked()
	w.joinGroupLocked()
}

// setCursorLocked sets the cursor to resume at. Every step since the position is sent if the window
// reaches back to it, and the latest states if the log does. Otherwise a snapshot is sent.
func (w *Watcher) setCursorLocked() {
	feed := w.cache.feed
	since := w.options.Since
	switch {
	case since == nil || feed.undone(*since):
		w.beginSnapshotLocked()
		return
	case older(feed.version, since.Version) && w.deliveredThrough == "":
		w.beginSnapshotLocked() // the API server has never reached it
		return
	case older(feed.version, since.Version):
		return
	}
	if older(feed.closed, since.Version) {
		w.deliveredThrough = since.Version // the other replica has delivered all deletions at it
	}
	if seq, ok := feed.locateStep(since.Version); ok {
		w.cursor = seq
		return
	}
	if seq, ok := feed.log.locate(since.Version, feed.last); ok {
		w.cursor, w.catchUp = seq, &catchUp{since: since.Version, began: seq, end: feed.last}
		return
	}
	w.beginSnapshotLocked()
}

// joinGroupLocked joins a group. The group is a broad one while the caller may hold states that
// another replica has delivered and this one does not know.
func (w *Watcher) joinGroupLocked() {
	if w.group != nil {
		w.cache.feed.watchers.leave(w.group)
	}
	w.broad = w.deliveredThrough != ""
	w.group = w.cache.feed.watchers.join(w.selection, w.broad, w.cache.feed.last)
	w.cache.feed.examined.Add(int64(len(w.group.namespaces)))
}

// narrowGroup replaces a broad group by a narrow one, if the watcher is at the feed's end.
func (w *Watcher) narrowGroup() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.cursor == c.feed.last && w.epoch == c.feed.epoch.id {
		w.joinGroupLocked()
	}
}

// readResult is what a watcher reads at its cursor: changes, or latest states if the cursor is
// older than the window, or nothing yet. It has a part of a snapshot while a snapshot is being
// sent.
type readResult struct {
	changes    []change
	states     []latest
	since      uint64   // sequence number at which the states begin
	catchUp    *catchUp // source of the states
	logPart    logPart  // source of the states
	backfilled []latest // deletions that may be among them
	part       *snapshotPart
	position   Position
	// freshness is the cache's freshness at the time of the read.
	freshness   Freshness
	more        bool        // there is more to read
	unresumable bool        // the stream cannot be resumed after it
	needsResync bool        // the watcher must resync: see skippedVersionLocked
	batches     *batchCache // where watchers with the same batchKey share the batch
	batchKey    batchKey
	advanced    <-chan struct{} // if there is nothing more: closed as soon as there is
	ended       error           // if there is nothing more: why there never will be
}

// poll returns what is pending for this watcher, and advances its cursor.
func (w *Watcher) poll() readResult {
	result := w.readFeed()
	if result.catchUp != nil {
		result.states = result.catchUp.complete(result.logPart, result.backfilled)
	}
	return result
}

func (w *Watcher) readFeed() readResult {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if w.epoch != c.feed.epoch.id || w.cursor < c.feed.log.evictedSeq {
		w.beginSnapshotLocked()
	}
	if w.snapshot != nil {
		return w.readSnapshotLocked()
	}
	return w.readPendingLocked(w.endLocked())
}

// readPendingLocked returns the changes that are pending for the watcher, up to an end, or the
// latest states if its cursor is older than the window.
func (w *Watcher) readPendingLocked(end feedEnd) readResult {
	if w.catchUp != nil {
		return w.readLatestLocked()
	}
	lagsWindow := w.lagsWindowLocked(end)
	switch {
	case w.skippedVersionLocked(lagsWindow):
		position := w.cache.feed.position(time.Now())
		position.Version = w.deliveredThrough
		// The caller lacks what the cache knows, until the API server's history has been read.
		freshness := Freshness{Stale: true, LastContact: w.cache.freshnessLocked().LastContact}
		return readResult{needsResync: true, position: position, freshness: freshness}
	case lagsWindow:
		w.catchUp = &catchUp{began: w.cursor, end: w.cache.feed.last}
		return w.readLatestLocked()
	}
	return w.readChangesLocked(end)
}

// lagsWindowLocked reports whether the window lacks some of the pending changes.
func (w *Watcher) lagsWindowLocked(end feedEnd) bool {
	window := &w.cache.feed.window
	if w.readsAllLocked() {
		return !window.covers(w.cursor)
	}
	seqs := w.group.between(w.cursor, end.seq)
	return len(seqs) > 0 && seqs[0] < window.first
}

// readsAllLocked reports whether the watcher must examine every change, because its cursor is older
// than its group.
func (w *Watcher) readsAllLocked() bool { return w.cursor < w.group.since }

// readChangesLocked returns the pending changes up to an end, at most as many as the watcher takes
// at once.
func (w *Watcher) readChangesLocked(end feedEnd) readResult {
	feed := w.cache.feed
	var changes []change
	size, more := 0, false
	for c := range w.pendingLocked(end) {
		if len(changes) == feed.limits.batch || size >= feed.limits.batchBytes {
			more = true
			break
		}
		changes = append(changes, *c)
		size += c.size()
	}
	feed.examined.Add(int64(len(changes)))
	result := readResult{changes: changes, more: more}
	if len(changes) > 0 && w.group.watchers > 1 {
		result.batches, result.batchKey = w.group.batches, batchKey{w.selection.key, w.cursor, end.seq}
	}
	if !more {
		return w.advanceLocked(result, end)
	}
	last := changes[len(changes)-1]
	result.batchKey.to, result.unresumable = last.seq, last.seq != last.step
	result.position = feed.position(time.Now())
	result.position.Version = last.closes
	if older(last.version, feed.window.at(last.seq+1).version) {
		result.position.Version = last.version
	}
	w.cursor = last.seq
	return result
}

// pendingLocked returns the changes after the watcher's cursor, up to an end, that concern it.
// Others may be among them.
func (w *Watcher) pendingLocked(end feedEnd) iter.Seq[*change] {
	window := &w.cache.feed.window
	if w.readsAllLocked() {
		return func(yield func(*change) bool) {
			for seq := w.cursor + 1; seq <= end.seq && yield(window.at(seq)); seq++ {
			}
		}
	}
	return func(yield func(*change) bool) {
		for _, seq := range w.group.between(w.cursor, end.seq) {
			if !yield(window.at(seq)) {
				return
			}
		}
	}
}

// endLocked returns the end up to which the watcher may read: the feed's end, or the group's end
// while the group is held. A watcher that has already read further, because latest states extend to
// the feed's end, is not held.
func (w *Watcher) endLocked() feedEnd {
	if throttle := w.group.throttle; throttle.active && w.cursor <= throttle.end.seq {
		return throttle.end
	}
	return w.cache.feed.end()
}

// advanceLocked moves the watcher's cursor to an end.
func (w *Watcher) advanceLocked(result readResult, end feedEnd) readResult {
	feed := w.cache.feed
	w.epoch, w.cursor = feed.epoch.id, end.seq
	result.position = feed.position(time.Now())
	result.position.Version = end.closed
	result.freshness = w.cache.freshnessLocked()
	result.advanced = w.group.batches.done
	result.ended = w.cache.state.ended
	return result
}

// pendingBatch is a batch that is being built from a read result. Matched changes and states are
// removed from the read result.
type pendingBatch struct {
	result readResult
	batch  Batch
}

// pendingOrPoll returns what is pending for this watcher. The result of an earlier call whose
// context ended comes first, because the cursor is already after it.
func (w *Watcher) pendingOrPoll() readResult {
	if w.pending != nil {
		return w.pending.result
	}
	return w.poll()
}

// batch returns the batch of a read result for the watcher, built once for all watchers that read
// the same. If the context ends meanwhile, the read result stays pending.
func (w *Watcher) batch(ctx context.Context, result readResult) (Batch, error) {
	var batch Batch
	if w.pending != nil || result.batches == nil || result.part != nil || w.deliveredThrough != "" {
		var err error
		if batch, err = w.ownBatch(ctx, result); err != nil {
			return Batch{}, err
		}
	} else {
		batch = result.batches.share(result.batchKey, func() Batch { return w.sharedBatch(ctx, result) })
	}
	w.warner.count(batch)
	return batch, nil
}

// ownBatch returns the batch of a read result that no other watcher shares. Long parts of snapshots
// and of latest states use a processor slot.
func (w *Watcher) ownBatch(ctx context.Context, result readResult) (Batch, error) {
	if w.pending == nil {
		w.pending = &pendingBatch{result: result, batch: batchOf(result)}
	}
	if w.isLong(result) {
		slotCtx, end, err := fairqueue.Begin(ctx)
		if err != nil {
			return Batch{}, err
		}
		defer end()
		ctx = slotCtx
	}
	if err := w.match(ctx, &w.pending.result, &w.pending.batch); err != nil {
		if ctx.Err() == nil {
			w.pending = nil
		}
		return Batch{}, err
	}
	batch := w.pending.batch
	w.pending = nil
	return batch, nil
}

// isLong reports whether matching a part of a snapshot or of latest states needs a processor slot.
// A few objects are matched in less time than a slot lasts.
func (w *Watcher) isLong(result readResult) bool {
	switch {
	case result.part == nil && result.catchUp == nil:
		return false
	case w.selection.filter != nil || result.part == nil:
		return true
	}
	return len(result.part.objects) > shortWork
}

// sharedBatch returns the batch of a read result for all watchers that share it. Because others
// wait for it, it does not end with the context of one watcher, and does not wait for a slot. It is
// one batch of changes.
func (w *Watcher) sharedBatch(ctx context.Context, result readResult) Batch {
	batch := batchOf(result)
	_ = w.match(context.WithoutCancel(ctx), &result, &batch) // fails only for snapshots and ended contexts
	return batch
}

func batchOf(result readResult) Batch {
	return Batch{
		Position: result.position, Freshness: result.freshness,
		unresumable: result.unresumable, compacted: result.catchUp != nil,
	}
}

// match adds the events of a read result under the watcher's selection to a batch, and removes what
// it has matched from the read result.
func (w *Watcher) match(ctx context.Context, from *readResult, to *Batch) error {
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
	w.keepPosition(to)
	return nil
}

func (w *Watcher) matchChanges(ctx context.Context, from *readResult, to *Batch) error {
	for i := 0; len(from.changes) > 0; i++ {
		if err := w.yield(ctx, i); err != nil {
			return err
		}
		step := from.changes[0]
		from.changes = from.changes[1:]
		if from.part != nil && !from.part.passed.passed(step.object()) {
			continue
		}
		if event, ok := w.selection.transition(step, &to.unvalued); ok && !w.alreadyDelivered(event) {
			to.Events = append(to.Events, w.withoutBefore(event))
		}
	}
	return nil
}

func (w *Watcher) matchStates(ctx context.Context, from *readResult, to *Batch) error {
	for i := 0; len(from.states) > 0; i++ {
		if err := w.yield(ctx, i); err != nil {
			return err
		}
		state := from.states[0]
		from.states = from.states[1:]
		if from.part != nil && !from.part.passed.passed(state.object) {
			continue
		}
		heldAt := from.catchUp.heldAt(state, from.since)
		if event, ok := w.selection.latestStateEvent(state, heldAt, &to.unvalued); ok && !w.alreadyDelivered(event) {
			to.Events = append(to.Events, event)
		}
	}
	return nil
}

// yield yields the processor before the i-th step of a loop over objects: at every step if there is
// a filter, which may take a millisecond, and otherwise at regular intervals.
func (w *Watcher) yield(ctx context.Context, i int) error {
	if w.selection.filter == nil && i%stepsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}

// skippedVersionLocked reports whether the feed has moved past the caller's version without every
// step there, by a relist or because the window was trimmed. The caller's state then lies between
// two states that are known here, so the watcher must resync from that version.
func (w *Watcher) skippedVersionLocked(lagsWindow bool) bool {
	feed := w.cache.feed
	return w.deliveredThrough != "" && older(w.deliveredThrough, feed.version) &&
		(lagsWindow || feed.log.gapAt(w.deliveredThrough) != nil)
}

// alreadyDelivered reports whether another replica has already delivered an event to the caller.
func (w *Watcher) alreadyDelivered(event Event) bool {
	return w.deliveredThrough != "" && !older(w.deliveredThrough, event.ResourceVersion)
}

// withoutBefore returns an event without Before while the caller's state is unknown: as long as it
// may hold what a replica that was ahead has delivered.
func (w *Watcher) withoutBefore(event Event) Event {
	if w.deliveredThrough != "" {
		event.Before = nil
	}
	return event
}

// keepPosition keeps the position from going back while this replica is older than the one that the
// caller comes from.
func (w *Watcher) keepPosition(batch *Batch) {
	switch version := batch.Position.Version; {
	case w.deliveredThrough == "":
	case older(version, w.deliveredThrough):
		batch.Position.Version = w.deliveredThrough
	case !batch.unresumable || older(w.deliveredThrough, version):
		w.deliveredThrough = ""
	}
}
