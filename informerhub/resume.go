package informerhub

import (
	"cmp"
	"context"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// begin sets the watcher's first cursor.
func (w *Watcher) begin(ctx context.Context) error {
	w.deliveredThrough, w.unchecked = "", ""
	if since := w.options.Since; since != nil && !w.cache.undone(*since) {
		if err := w.prepare(ctx, *since); err != nil {
			return err
		}
	}
	w.join()
	tracing.Note(ctx, w.beginning())
	return nil
}

// beginning returns how the stream begins, for traces.
func (w *Watcher) beginning() string {
	switch {
	case w.options.Since == nil:
		return "begin with a snapshot"
	case w.snapshot != nil:
		return "reset"
	case w.catchUp != nil:
		return "resume by latest states"
	}
	return "resume in the window"
}

// prepare checks that the watcher can resume at a position. A version that this replica has not
// reached must be one that the API server has reached, and one from before the log began needs
// history.
func (w *Watcher) prepare(ctx context.Context, since Position) error {
	version := since.Version
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
	w.cache.backfill(ctx, cmp.Or(w.cache.uncheckedSince(since), version))
	return nil
}

// noteDeletion records up to which deletion of several at one version a batch has delivered them, and
// sets that in a Bookmark.
func (w *Watcher) noteDeletion(batch *Batch) {
	if last := len(batch.Events) - 1; batch.Events[last].Type != Bookmark {
		position, _ := batch.PositionAfter(last)
		w.deletion = position.Deletion
	} else if w.deletion.Version != "" && object.Older(batch.Position.Version, w.deletion.Version) {
		batch.deletion = w.deletion
	}
}

// join sets the watcher's first cursor and its group.
func (w *Watcher) join() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	w.snapshot, w.catchUp, w.pending, w.needsResync, w.deletion = nil, nil, nil, false, Deletion{}
	w.epoch, w.cursor, w.contact = c.feed.epoch.id, c.feed.last, c.completeAsOfLocked()
	w.setCursorLocked()
	if w.snapshot == nil && w.options.Since != nil {
		w.unchecked = c.feed.uncheckedSince(*w.options.Since)
	}
	w.joinGroupLocked()
}

// checkLocked begins a snapshot if the caller may lack deletions from before the position that it
// resumed from. This is known when the cache has reached that position.
func (w *Watcher) checkLocked() {
	if w.unchecked == "" || w.deliveredThrough != "" || w.needsResync {
		return
	}
	if w.snapshot == nil && w.cache.feed.log.mayLack(w.unchecked, w.options.Since.Version) {
		w.cache.beginnings.resets.Add(1)
		w.beginSnapshotLocked()
	}
	w.unchecked = ""
}

// setCursorLocked sets the cursor to resume at. Every step since the position is sent if the window
// reaches back to it, and the latest states if the log does. Otherwise a snapshot is sent.
func (w *Watcher) setCursorLocked() {
	feed, counts := w.cache.feed, &w.cache.beginnings
	since := w.options.Since
	switch {
	case since == nil:
		counts.snapshots.Add(1)
		w.beginSnapshotLocked()
		return
	case feed.undone(*since), object.Older(feed.version, since.Version) && w.deliveredThrough == "":
		counts.resets.Add(1) // the API server has undone it, or has never reached it
		w.beginSnapshotLocked()
		return
	case object.Older(feed.version, since.Version):
		counts.resumed.Add(1)
		return
	}
	if object.Older(feed.closed, since.Version) {
		w.deliveredThrough = since.Version // the other replica has delivered all deletions at it
	}
	if seq, ok := feed.locateStep(since.Version); ok {
		counts.resumed.Add(1)
		if w.cursor = feed.window.afterDeletion(seq, since.Deletion); w.cursor > seq {
			w.deletion = since.Deletion
		}
		return
	}
	if seq, ok := feed.log.locate(since.Version, feed.last); ok {
		counts.latestStates.Add(1)
		w.cursor, w.catchUp = seq, &catchUp{since: since.Version, skipped: feed.log.skippedAt(since.Version), began: seq, end: feed.last}
		return
	}
	counts.resets.Add(1)
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

// skippedVersionLocked reports whether the feed has moved past the caller's version without every
// step there, by a relist or because the window was trimmed. The caller's state then lies between
// two states that are known here, so the watcher must resync from that version.
func (w *Watcher) skippedVersionLocked(lagsWindow bool) bool {
	feed := w.cache.feed
	return w.deliveredThrough != "" && object.Older(w.deliveredThrough, feed.version) &&
		(lagsWindow || feed.log.gapAt(w.deliveredThrough) != nil)
}

// alreadyDelivered reports whether another replica has already delivered an event to the caller.
func (w *Watcher) alreadyDelivered(event Event) bool {
	return w.deliveredThrough != "" && !object.Older(w.deliveredThrough, event.ResourceVersion)
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
	if w.unchecked != "" {
		batch.Position.Unchecked = w.unchecked
	}
	switch version := batch.Position.Version; {
	case w.deliveredThrough == "":
	case object.Older(version, w.deliveredThrough):
		batch.Position.Version = w.deliveredThrough
	case !batch.unresumable || object.Older(w.deliveredThrough, version):
		w.deliveredThrough = ""
	}
}
