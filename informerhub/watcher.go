package informerhub

import (
	"cmp"
	"context"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// WatchOptions configure a watcher.
type WatchOptions struct {
	// Bookmarks is the quiet period after which Next returns a Bookmark. Zero is the default, 5
	// seconds.
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
	// delivered
	// everything to the caller; empty if there is none.
	deliveredThrough string
	// deletion is the last deletion that was delivered, if the position is older; see Position.
	deletion    Deletion
	needsResync bool // it must resync from its options' position

	// pending is what was read when the context ended, with the batch that was begun for it; nil if
	// there is none.
	pending *pendingBatch

	lastBatchAt    time.Time // when Next last returned
	bookmarkDue    bool      // a Bookmark follows as soon as there is nothing else
	flushing       bool      // see Flush
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
	w.lastBatchAt, w.unresumable = time.Now(), batch.unresumable
	w.bookmarkDue = w.bookmarkDue && !batch.hasSyncedOrBookmark()
	batch.Warnings = w.warner.warnings(batch, w.options.Bookmarks)
	return batch, nil
}

func (w *Watcher) next(ctx context.Context, interrupt <-chan struct{}) (Batch, error) {
	if err := w.cache.checkSelection(cmp.Or(w.nextSelection, w.selection)); err != nil {
		return Batch{}, err
	}
	switch {
	case w.nextSelection != nil:
		if batch, ok, err := w.switchSelection(ctx); ok || err != nil {
			return batch, err
		}
	case w.group == nil || w.needsResync:
		if err := w.begin(ctx); err != nil {
			return Batch{}, err
		}
		w.bookmarkDue = true
	}
	bookmarkTimer := time.NewTimer(time.Until(w.lastBatchAt.Add(w.options.Bookmarks)))
	defer bookmarkTimer.Stop()
	endTurn := func() {} // ends the turn in which changes are read and matched, at the pace of the caller
	defer func() { endTurn() }()
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
			w.flushing = w.flushing && next.more
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
		endTurn()
		select {
		case <-next.advanced:
			end, err := fairqueue.BeginTurn(ctx)
			if err != nil {
				return Batch{}, err
			}
			endTurn = end
		case <-bookmarkTimer.C:
			w.bookmarkDue = true
		case <-interrupt:
			return Batch{}, ErrInterrupted
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
	}
}
