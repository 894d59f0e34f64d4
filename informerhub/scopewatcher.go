package informerhub

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// scopeWatcher follows a selection in one scope. It is only a cursor in the cache's feed: it has no queue and no
// goroutine, and cannot slow down the cache or another watcher. It is not safe for concurrent use.
type scopeWatcher struct {
	cache     *scopeCache
	selection *Selection
	options   WatchOptions

	group  *watcherGroup // wakes the watcher; nil before the first read
	broad  bool          // group is a broad one
	epoch  uint64
	cursor uint64
	// snapshot is the snapshot that is being sent; nil if there is none.
	snapshot *snapshotWalk
	// catchUp is the delivery of latest states that is in progress; nil if there is none.
	catchUp    *catchUp
	divergence divergence // of the caller's state from what this replica knows
	// deletion is the last deletion that was delivered, if the position is older; see Position.
	deletion Deletion
	contact  time.Time // time as of which what was read last is complete

	// pending is what was read when the context ended, with the batch that was begun for it; nil if
	// there is none.
	pending *pendingBatch

	bookmarkDue bool // a Bookmark follows as soon as there is nothing else
	// bookmarkBy is the time from which a Bookmark follows the next batch, also if there is more. It
	// is zero until the first Synced or Bookmark: the first Bookmark of a watcher that resumes shows
	// that nothing is left of what was pending at beganAt.
	bookmarkBy     time.Time
	beganAt        uint64 // the feed's last change when the watcher began
	following      Batch  // the Bookmark that follows the last batch; without events if there is none
	flushing       bool   // see Flush
	warner         warner
	advanced       <-chan struct{} // closed when there is something to read; set when there was nothing
	unresumable    bool            // the stream cannot be resumed after the last returned batch
	nextSelection  *Selection      // the selection to switch to; nil if there is none
	nextBySnapshot bool            // switch with a snapshot
}

// Flush implements watchReader.
func (w *scopeWatcher) Flush() { w.flushing = true }

// RequestBookmark implements watchReader.
func (w *scopeWatcher) RequestBookmark() {
	w.bookmarkDue = true
	if !w.bookmarkBy.IsZero() {
		w.bookmarkBy = time.Now()
	}
}

// IsFlushing implements watchReader.
func (w *scopeWatcher) IsFlushing() bool { return w.flushing }

// Close implements watchReader.
func (w *scopeWatcher) Close() {
	if w.group == nil {
		return
	}
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.cache.feed.watchers.leave(w.group)
	w.group = nil
}

// NextUntil implements watchReader.
func (w *scopeWatcher) NextUntil(ctx context.Context, interrupt <-chan struct{}) (Batch, error) {
	batch, err := w.next(ctx, interrupt)
	if err != nil {
		return Batch{}, err
	}
	w.noteDeletion(&batch)
	w.unresumable = batch.unresumable
	if batch.hasSyncedOrBookmark() {
		w.bookmarkDue, w.bookmarkBy = false, time.Now().Add(w.options.Bookmarks)
	}
	batch.Warnings = w.warner.warnings(batch, w.options.Bookmarks)
	return batch, nil
}

func (w *scopeWatcher) next(ctx context.Context, interrupt <-chan struct{}) (Batch, error) {
	if err := w.cache.checkSelection(cmp.Or(w.nextSelection, w.selection)); err != nil {
		return Batch{}, err
	}
	switch {
	case w.nextSelection != nil:
		w.following = Batch{} // its position is of the selection before
		if batch, ok, err := w.switchSelection(ctx); ok || err != nil {
			return batch, err
		}
	case len(w.following.Events) > 0:
		following := w.following
		w.following = Batch{}
		return following, nil
	case w.group == nil || w.divergence.needsResync:
		if err := w.begin(ctx); err != nil {
			return Batch{}, err
		}
	}
	bookmarkTimer := time.NewTimer(time.Until(w.bookmarkBy))
	defer bookmarkTimer.Stop()
	var endTurn func() // ends the turn in which changes are read and matched, at the pace of the caller
	defer func() {
		if endTurn != nil {
			endTurn()
		}
	}()
	for {
		if w.broad && !w.divergence.isAhead() {
			w.narrowGroup()
		}
		if endTurn == nil && w.needsTurn() {
			end, err := fairqueue.BeginTurn(ctx)
			if err != nil {
				return Batch{}, err
			}
			endTurn = end
		}
		next := w.pendingOrPoll()
		if next.needsResync {
			w.divergence.needsResync = true // reading history may take a while: until then the caller receives this
			return bookmark(next.position, next.freshness), nil
		}
		batch, err := w.batch(ctx, next)
		switch {
		case err != nil:
			return Batch{}, err
		case len(batch.Events) > 0:
			w.flushing = w.flushing && next.more
			if w.owesBookmark(next.more) && !batch.unresumable && !batch.hasSyncedOrBookmark() {
				w.following = batch.bookmark()
			}
			return batch, nil
		case next.more && ctx.Err() == nil:
			continue // nothing for this selection; there is more
		case next.more:
			return Batch{}, context.Cause(ctx)
		case next.ended != nil:
			return Batch{}, next.ended
		case w.bookmarkDue || w.unresumable || w.flushing:
			w.flushing = false
			return batch.bookmark(), nil
		}
		if endTurn != nil {
			endTurn()
			endTurn = nil
		}
		w.advanced = next.advanced
		select {
		case <-next.advanced:
		case <-bookmarkTimer.C:
			w.bookmarkDue = true
		case <-interrupt:
			return Batch{}, ErrInterrupted
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
	}
}

// owesBookmark reports whether a Bookmark is due behind a batch of events; more reports whether other
// events are pending. The first Bookmark does not wait for events that came after the watcher began:
// there may be more of them whenever it reads.
func (w *scopeWatcher) owesBookmark(more bool) bool {
	if w.bookmarkBy.IsZero() {
		return w.bookmarkDue && (!more || w.cursor >= w.beganAt)
	}
	return w.bookmarkDue && !more || !time.Now().Before(w.bookmarkBy)
}

// pendingBatch is a batch that is being made from what a watcher has read. The cursor is already
// after it.
type pendingBatch struct {
	result readResult
	making *sharedBatch
}

// pendingOrPoll returns what is pending for this watcher. The result of an earlier call whose
// context ended comes first, because the cursor is already after it.
func (w *scopeWatcher) pendingOrPoll() readResult {
	if w.pending != nil {
		return w.pending.result
	}
	return w.poll()
}

// batch returns the batch of a read result for the watcher, made once for all watchers that read
// the same. If the context ends meanwhile, the read result stays pending.
func (w *scopeWatcher) batch(ctx context.Context, result readResult) (Batch, error) {
	if w.pending == nil {
		w.pending = &pendingBatch{result: result, making: w.making(result)}
	}
	batch, err := w.finish(ctx, w.pending.making)
	if err == nil || ctx.Err() == nil {
		w.pending = nil
	}
	if err != nil {
		return Batch{}, err
	}
	w.warner.count(batch)
	return batch, nil
}

// making returns the batch that watchers with the same read result make together, or one of this
// watcher alone.
func (w *scopeWatcher) making(result readResult) *sharedBatch {
	if result.batches == nil || result.part != nil || w.divergence.isAhead() {
		return &sharedBatch{rest: result, batch: batchOf(result)}
	}
	return result.batches.share(result.batchKey, func() *sharedBatch {
		making := &sharedBatch{rest: result, batch: batchOf(result)}
		making.batch.shared = making
		return making
	})
}

// finish matches what is left of a batch, and returns the batch. Each watcher that waits for a shared
// batch works on it in turn, in a processor slot of its own caller and until its own context ends. So
// a batch is never later than the slot of the first caller that gets one, whichever of them began it.
func (w *scopeWatcher) finish(ctx context.Context, making *sharedBatch) (Batch, error) {
	if batch, ok := making.get(); ok {
		return batch, nil
	}
	if w.isLong(&w.pending.result) {
		slotCtx, end, err := fairqueue.Begin(ctx)
		if err != nil {
			return Batch{}, err
		}
		defer end()
		ctx = slotCtx
	}
	making.mu.Lock()
	defer making.mu.Unlock()
	if err := w.match(ctx, making); err != nil {
		return Batch{}, err
	}
	making.rest, making.made = readResult{}, true
	return making.batch, nil
}

// isLong reports whether matching a read result needs a processor slot. A few small objects are matched
// by labels and fields in less time than a slot lasts.
func (w *scopeWatcher) isLong(result *readResult) bool {
	sel := w.selection
	switch {
	case sel.filter != nil || result.catchUp != nil:
		return true
	case result.part != nil:
		return len(result.part.objects) > shortWork || sel.isLong(slices.Values(result.part.objects))
	}
	return sel.isLong(func(yield func(*Object) bool) {
		for _, step := range result.changes {
			if !yield(step.object()) {
				return
			}
		}
	})
}

func batchOf(result readResult) Batch {
	return Batch{
		Since:    timeOf(result.oldest),
		Position: result.position, Through: result.through, Freshness: result.freshness,
		unresumable: result.unresumable, compacted: result.catchUp != nil,
	}
}

// timeOf returns a time in Unix nanoseconds; the zero time for 0.
func timeOf(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

// match adds the events of the rest of a read result under the watcher's selection to its batch. The
// batch's lock is held, and released between two steps.
func (w *scopeWatcher) match(ctx context.Context, making *sharedBatch) error {
	if err := w.matchChanges(ctx, making); err != nil {
		return err
	}
	if err := w.matchStates(ctx, making); err != nil {
		return err
	}
	if part := making.rest.part; part != nil {
		if err := part.complete(ctx, &making.batch, w.selection); err != nil {
			return err
		}
	}
	w.divergence.keepPosition(&making.batch)
	return nil
}

func (w *scopeWatcher) matchChanges(ctx context.Context, making *sharedBatch) error {
	for i, rest := 0, &making.rest; len(rest.changes) > 0; i++ {
		if err := w.yield(ctx, i, making); err != nil {
			return err
		}
		if len(rest.changes) == 0 {
			return nil // another watcher has matched the rest
		}
		step := rest.changes[0]
		rest.changes = rest.changes[1:]
		if rest.part != nil && !rest.part.passed.passed(step.object()) {
			continue
		}
		if event, ok := w.selection.transition(step, &making.batch.unvalued); ok && !w.divergence.hasDelivered(event) {
			making.batch.Events = append(making.batch.Events, w.divergence.withoutBefore(event))
		}
	}
	return nil
}

func (w *scopeWatcher) matchStates(ctx context.Context, making *sharedBatch) error {
	for i, rest := 0, &making.rest; len(rest.states) > 0; i++ {
		if err := w.yield(ctx, i, making); err != nil {
			return err
		}
		if len(rest.states) == 0 {
			return nil
		}
		state := rest.states[0]
		rest.states = rest.states[1:]
		if rest.part != nil && !rest.part.passed.passed(state.object) {
			continue
		}
		heldAt := rest.catchUp.heldAt(state, rest.since)
		if event, ok := w.selection.latestStateEvent(state, heldAt, &making.batch.unvalued); ok && !w.divergence.hasDelivered(event) {
			making.batch.Events = append(making.batch.Events, event)
		}
	}
	return nil
}

// yield yields the processor before the i-th step of a loop over objects, without the batch's lock: at
// every step if there is a filter, which may take a millisecond, and otherwise at regular intervals.
func (w *scopeWatcher) yield(ctx context.Context, i int, making *sharedBatch) error {
	if w.selection.filter == nil && i%stepsBetweenYields != 0 {
		return nil
	}
	making.mu.Unlock()
	defer making.mu.Lock()
	return fairqueue.Yield(ctx)
}
