package informerhub

import (
	"cmp"
	"context"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// begin sets the watcher's first cursor.
func (w *scopeWatcher) begin(ctx context.Context) error {
	w.divergence.deliveredThrough, w.divergence.unchecked = "", ""
	if since := w.options.Since; since != nil && !w.cache.undone(*since) {
		if err := w.prepare(ctx, *since); err != nil {
			return err
		}
	}
	w.join()
	w.bookmarkDue, w.bookmarkBy = true, time.Time{}
	tracing.Note(ctx, w.beginning())
	return nil
}

// beginning returns how the stream begins, for traces.
func (w *scopeWatcher) beginning() string {
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
func (w *scopeWatcher) prepare(ctx context.Context, since Position) error {
	version := since.Version
	reached, err := w.cache.hasReached(ctx, version)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if err := w.cache.awaitWithoutAPIServer(ctx, version, w.options.SinceTimeout, err); err != nil {
			return err
		}
	case reached:
		w.divergence.deliveredThrough = version
	}
	w.cache.backfiller.backfill(ctx, cmp.Or(w.cache.uncheckedSince(since), version))
	return nil
}

// noteDeletion records up to which deletion of several at one version a batch has delivered them, and
// sets that in a Bookmark.
func (w *scopeWatcher) noteDeletion(batch *Batch) {
	if last := len(batch.Events) - 1; batch.Events[last].Type != Bookmark {
		position, _ := batch.PositionAfter(last)
		w.deletion = position.Deletion
	} else if w.deletion.Version != "" && object.Older(batch.Position.Version, w.deletion.Version) {
		batch.deletion = w.deletion
	}
}

// join sets the watcher's first cursor and its group.
func (w *scopeWatcher) join() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	w.snapshot, w.catchUp, w.pending, w.deletion = nil, nil, nil, Deletion{}
	w.divergence.needsResync = false
	w.epoch, w.cursor, w.contact = c.feed.epoch.id, c.feed.last, c.completeAsOfLocked()
	w.beganAt = c.feed.last
	w.setCursorLocked()
	if w.snapshot == nil && w.options.Since != nil {
		w.divergence.unchecked = c.feed.uncheckedSince(*w.options.Since)
	}
	w.joinGroupLocked()
}

// checkLocked begins a snapshot if the caller may lack deletions from before the position that it
// resumed from. This is known when the cache has reached that position.
func (w *scopeWatcher) checkLocked() {
	if w.divergence.unchecked == "" || w.divergence.isAhead() || w.divergence.needsResync {
		return
	}
	if w.snapshot == nil && w.cache.feed.log.mayLack(w.divergence.unchecked, w.options.Since.Version) {
		w.cache.beginnings.resets.Add(1)
		w.beginSnapshotLocked()
	}
	w.divergence.unchecked = ""
}

// setCursorLocked sets the cursor to resume at. Every step since the position is sent if the window
// reaches back to it, and the latest states if the log does. Otherwise a snapshot is sent.
func (w *scopeWatcher) setCursorLocked() {
	feed, counts := w.cache.feed, &w.cache.beginnings
	since := w.options.Since
	switch {
	case since == nil:
		counts.snapshots.Add(1)
		w.beginSnapshotLocked()
		return
	case feed.undone(*since), object.Older(feed.version, since.Version) && !w.divergence.isAhead():
		counts.resets.Add(1) // the API server has undone it, or has never reached it
		w.beginSnapshotLocked()
		return
	case object.Older(feed.version, since.Version):
		counts.resumed.Add(1)
		return
	}
	if object.Older(feed.closed, since.Version) {
		w.divergence.deliveredThrough = since.Version // the other replica has delivered all deletions at it
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
func (w *scopeWatcher) joinGroupLocked() {
	if w.group != nil {
		w.cache.feed.watchers.leave(w.group)
	}
	w.broad = w.divergence.isAhead()
	w.group = w.cache.feed.watchers.join(w.selection, w.broad, w.cache.feed.last)
	w.cache.feed.examined.Add(int64(len(w.group.namespaces)))
}

// narrowGroup replaces a broad group by a narrow one, if the watcher is at the feed's end.
func (w *scopeWatcher) narrowGroup() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.cursor == c.feed.last && w.epoch == c.feed.epoch.id {
		w.joinGroupLocked()
	}
}

// divergence is how the state of a watcher's caller can differ from what this replica knows, because
// the caller comes from another replica. The zero value is no difference.
type divergence struct {
	// deliveredThrough is the version up to which another replica, which was ahead of this one, has
	// delivered everything to the caller; empty if there is none.
	deliveredThrough string
	// unchecked is the version since which the caller may lack deletions that this replica knows, up to
	// the version of the position that it resumes from; empty if it has been checked that it does not.
	unchecked   string
	needsResync bool // the watcher must resync from its options' position
}

// isAhead reports whether the caller may hold what another replica has delivered and this one does
// not know.
func (d *divergence) isAhead() bool { return d.deliveredThrough != "" }

// isSkippedBy reports whether a feed has moved past the caller's version without every step there, by a
// relist or because the window was trimmed. The caller's state then lies between two states that are
// known here, so the watcher must resync from that version.
func (d *divergence) isSkippedBy(feed *feed, lagsWindow bool) bool {
	return d.isAhead() && object.Older(d.deliveredThrough, feed.version) &&
		(lagsWindow || feed.log.gapAt(d.deliveredThrough) != nil)
}

// hasDelivered reports whether another replica has already delivered an event to the caller.
func (d *divergence) hasDelivered(event Event) bool {
	return d.isAhead() && !object.Older(d.deliveredThrough, event.ResourceVersion)
}

// withoutBefore returns an event without Before while the caller's state is unknown: as long as it
// may hold what a replica that was ahead has delivered.
func (d *divergence) withoutBefore(event Event) Event {
	if d.isAhead() {
		event.Before = nil
	}
	return event
}

// keepPosition keeps the position of a batch from going back while this replica is older than the one
// that the caller comes from. The difference ends with the batch that reaches the other's version.
func (d *divergence) keepPosition(batch *Batch) {
	if d.unchecked != "" {
		batch.Position.Unchecked = d.unchecked
	}
	switch version := batch.Position.Version; {
	case !d.isAhead():
	case object.Older(version, d.deliveredThrough):
		batch.Position.Version = d.deliveredThrough
	case !batch.unresumable || object.Older(d.deliveredThrough, version):
		d.deliveredThrough = ""
	}
}

// Rescope is described at [Watcher.Rescope].
func (w *scopeWatcher) Rescope(next *Selection) { w.nextSelection = next }

// Restart is described at [Watcher.Restart].
func (w *scopeWatcher) Restart(next *Selection) { w.nextSelection, w.nextBySnapshot = next, true }

// switchSelection switches to the next selection and returns the batch between both. The batch is
// never empty, because its position is the first one under the new selection. switchSelection
// reports false if it has begun a snapshot instead. If the context ends meanwhile, the next call
// begins with a snapshot.
func (w *scopeWatcher) switchSelection(ctx context.Context) (batch Batch, ok bool, err error) {
	difference, ok := w.collectDifference()
	if !ok {
		w.switchBySnapshot()
		return Batch{}, false, nil
	}
	if batch, err = difference.batch(ctx, w.selection, w.nextSelection); err != nil {
		w.switchBySnapshot()
		return Batch{}, false, err
	}
	w.selection, w.nextSelection = w.nextSelection, nil
	w.warner.count(batch)
	if len(batch.Events) == 0 {
		return bookmark(batch.Position, difference.freshness), true, nil
	}
	return batch, true, nil
}

// batch returns the batch between two selections. It uses a processor slot, and ends with the
// context.
func (p scopeDifference) batch(ctx context.Context, from, to *Selection) (Batch, error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return Batch{}, err
	}
	defer end()
	batch := Batch{Position: p.position, Freshness: p.freshness, rescoped: true}
	type add func(context.Context, *Selection, *Selection, *Batch) error
	for _, add := range []add{p.addPending, p.addRemoved, p.addAdded} {
		if err := add(ctx, from, to, &batch); err != nil {
			return Batch{}, err
		}
	}
	return batch, nil
}

// switchBySnapshot switches selections with a snapshot.
func (w *scopeWatcher) switchBySnapshot() {
	w.selection, w.nextSelection, w.nextBySnapshot = w.nextSelection, nil, false
	w.options.Since, w.divergence.deliveredThrough = nil, ""
	w.join()
}

// scopeDifference is the difference between two selections, at one sequence number of the feed.
type scopeDifference struct {
	changes  []change   // pending changes
	removed  candidates // of the old selection only
	added    candidates // of the new selection only
	position Position
	version  string // of the feed
	// freshness is the cache's freshness at that time.
	freshness Freshness
}

// collectDifference moves the watcher's cursor to the feed's end and into the group of the next
// selection. It returns false if some of the changes up to there are unknown.
func (w *scopeWatcher) collectDifference() (scopeDifference, bool) {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	feed := c.feed
	if w.nextBySnapshot || w.group == nil || w.divergence != (divergence{}) ||
		w.epoch != feed.epoch.id || !feed.window.covers(w.cursor) ||
		w.snapshot != nil || w.catchUp != nil || w.pending != nil {
		return scopeDifference{}, false
	}
	added := candidates{runs: c.store.candidates(w.nextSelection, w.selection)}
	if exceeds(added, feed.limits.batchBytes) {
		return scopeDifference{}, false
	}
	difference := scopeDifference{
		changes:   append([]change(nil), feed.window.after(w.cursor)...),
		removed:   candidates{runs: c.store.candidates(w.selection, w.nextSelection)},
		added:     added,
		position:  feed.position(time.Now()),
		version:   feed.version,
		freshness: c.freshnessLocked(),
	}
	w.cursor = feed.last
	feed.watchers.leave(w.group)
	w.group = feed.watchers.join(w.nextSelection, false, feed.last)
	feed.examined.Add(int64(len(difference.changes) + len(w.group.namespaces)))
	return difference, true
}

// exceeds reports whether the added namespaces may have more objects than are sent in one batch. A
// snapshot is sent in parts.
func exceeds(added candidates, limit int) bool {
	size := 0
	for _, run := range added.runs {
		for _, object := range run {
			if size += object.Size(); size > limit {
				return true
			}
		}
	}
	return false
}

// addPending adds the changes in namespaces of both selections.
func (p scopeDifference) addPending(ctx context.Context, from, to *Selection, batch *Batch) error {
	for _, step := range p.changes {
		if err := fairqueue.Yield(ctx); err != nil {
			return err
		}
		if !from.includesNamespace(step.object().Namespace()) {
			continue
		}
		if event, ok := to.transition(step, &batch.unvalued); ok {
			event.Before = nil // the other events of the batch are at the same step
			batch.Events = append(batch.Events, event)
		}
	}
	return nil
}

// addRemoved adds deletions of the caller's objects in removed namespaces: the objects that the
// selection had before the pending changes.
func (p scopeDifference) addRemoved(ctx context.Context, from, to *Selection, batch *Batch) error {
	changed := make(map[string]bool) // by key
	remove := func(object *Object) error {
		if object != nil && !to.includesNamespace(object.Namespace()) && from.Matches(object) {
			head := object.Tombstone(object.UID(), p.version)
			batch.Events = append(batch.Events, Event{Type: Deleted, Object: head, ResourceVersion: p.version})
		}
		return fairqueue.Yield(ctx)
	}
	for _, step := range p.changes {
		if key := step.object().Key(); !changed[key] {
			changed[key] = true
			if err := remove(step.before); err != nil {
				return err
			}
		}
	}
	removed, err := p.removed.merge(ctx)
	if err != nil {
		return err
	}
	for _, object := range removed {
		if !changed[object.Key()] {
			if err := remove(object); err != nil {
				return err
			}
		}
	}
	return nil
}

// addAdded adds the objects in added namespaces.
func (p scopeDifference) addAdded(ctx context.Context, from, to *Selection, batch *Batch) error {
	added, err := p.added.merge(ctx)
	if err != nil {
		return err
	}
	for _, object := range added {
		if err := fairqueue.Yield(ctx); err != nil {
			return err
		}
		if !from.includesNamespace(object.Namespace()) && to.matchesCounting(object, &batch.unvalued) {
			batch.Events = append(batch.Events, Event{Type: Added, Object: object.Masked(to.fields), ResourceVersion: p.version})
		}
	}
	return nil
}
