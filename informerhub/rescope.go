package informerhub

import (
	"context"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// Rescope switches the watcher to a selection that differs only in Namespaces. The next batch has
// the difference, at one sequence number of the feed: the pending changes in namespaces of both
// selections; Deleted, without content, for the caller's objects in removed namespaces; and Added
// for the objects in added namespaces. Pending changes in removed namespaces are dropped. If the
// feed cannot continue from the watcher's cursor, the next batch is Reset and a snapshot.
func (w *Watcher) Rescope(next *Selection) { w.nextSelection = next }

// Restart switches the watcher to a selection as Rescope does, but always with Reset and a
// snapshot, because the caller has not been sent everything that Next has returned.
func (w *Watcher) Restart(next *Selection) { w.nextSelection, w.nextBySnapshot = next, true }

// switchSelection switches to the next selection and returns the batch between both. The batch is
// never empty, because its position is the first one under the new selection. switchSelection
// reports false if it has begun a snapshot instead. If the context ends meanwhile, the next call
// begins with a snapshot.
func (w *Watcher) switchSelection(ctx context.Context) (batch Batch, ok bool, err error) {
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
func (w *Watcher) switchBySnapshot() {
	w.selection, w.nextSelection, w.nextBySnapshot = w.nextSelection, nil, false
	w.options.Since, w.deliveredThrough = nil, ""
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
func (w *Watcher) collectDifference() (scopeDifference, bool) {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	feed := c.feed
	if w.nextBySnapshot || w.group == nil || w.needsResync || w.deliveredThrough != "" || w.unchecked != "" ||
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
