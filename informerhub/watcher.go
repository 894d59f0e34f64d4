package informerhub

import (
	"cmp"
	"context"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// WatchOptions configure a watcher.
type WatchOptions struct {
	// Bookmarks is the time after a Bookmark or a Synced at which Next returns the next Bookmark: at
	// once if no event is pending, and otherwise behind the next batch after which the stream can be
	// resumed. Zero is the default, 5 seconds.
	Bookmarks time.Duration
	// Since is the position to resume from; nil to begin with a snapshot.
	Since *Position
	// Patience bounds the wait for a cache that is older than Since, while the API server cannot be
	// asked whether it has ever reached that version. After that, Next fails with a
	// [discovery.UnavailableError]: beginning with a snapshot would take the caller back in time.
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
	// delivered everything to the caller; empty if there is none.
	deliveredThrough string
	// unchecked is the version since which the caller may lack deletions that this replica knows, up to
	// that of the position that it resumes from; empty if it has been checked that it does not.
	unchecked string
	// deletion is the last deletion that was delivered, if the position is older; see Position.
	deletion    Deletion
	contact     time.Time // time as of which what was read last is complete
	needsResync bool      // it must resync from its options' position

	// pending is what was read when the context ended, with the batch that was begun for it; nil if
	// there is none.
	pending *pendingBatch

	bookmarkDue bool // a Bookmark follows as soon as there is nothing else
	// bookmarkBy is the time from which a Bookmark follows the next batch, also if there is more. It
	// is zero until the first Synced or Bookmark: the first Bookmark of a watcher that resumes shows
	// that the watcher has caught up.
	bookmarkBy     time.Time
	following      Batch // the Bookmark that follows the last batch; without events if there is none
	flushing       bool  // see Flush
	warner         warner
	unresumable    bool       // the stream cannot be resumed after the last returned batch
	nextSelection  *Selection // the selection to switch to; nil if there is none
	nextBySnapshot bool       // switch with a snapshot
}

// Watch returns a watcher of a selection of this cache. Next fails with ErrForeignSelection for a
// selection of another one. Call Close when done.
func (c *Cache) Watch(sel *Selection, options WatchOptions) *Watcher {
	if options.Bookmarks <= 0 {
		options.Bookmarks = defaultBookmarks
	}
	return &Watcher{cache: c, selection: sel, options: options}
}

// Flush makes the next calls of Next return without waiting: first all changes up to the feed's end,
// also those that are held back during a burst, and then, if there were none, a Bookmark. After
// that, IsFlushing reports false and Next waits again.
func (w *Watcher) Flush() { w.flushing = true }

// RequestBookmark makes Next return a Bookmark as if the time for it had come; see
// WatchOptions.Bookmarks.
func (w *Watcher) RequestBookmark() {
	w.bookmarkDue = true
	if !w.bookmarkBy.IsZero() {
		w.bookmarkBy = time.Now()
	}
}

// IsFlushing reports whether changes that were there at the last call of Flush may be pending.
func (w *Watcher) IsFlushing() bool { return w.flushing }

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
// position, the first batches have the events since then, and a Bookmark follows as soon as no event
// is pending. Next fails when the context ends. It fails with the error that ended the cache, after
// all events up to the end have been delivered.
//
// If the context ends, no event is consumed: the next call resumes at the same cursor, and the
// bookmark timer keeps running.
func (w *Watcher) Next(ctx context.Context) (Batch, error) { return w.NextUntil(ctx, nil) }

// NextUntil is like Next, but fails with [ErrInterrupted] instead of waiting for events once the
// channel interrupt is closed. Pending events are returned nevertheless. A nil channel never
// interrupts.
func (w *Watcher) NextUntil(ctx context.Context, interrupt <-chan struct{}) (Batch, error) {
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

func (w *Watcher) next(ctx context.Context, interrupt <-chan struct{}) (Batch, error) {
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
	case w.group == nil || w.needsResync:
		if err := w.begin(ctx); err != nil {
			return Batch{}, err
		}
		w.bookmarkDue, w.bookmarkBy = true, time.Time{}
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
		if w.broad && w.deliveredThrough == "" {
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
			w.needsResync = true // reading history may take a while: until then the caller receives this
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
// events are pending.
func (w *Watcher) owesBookmark(more bool) bool {
	return w.bookmarkDue && !more || !w.bookmarkBy.IsZero() && !time.Now().Before(w.bookmarkBy)
}
