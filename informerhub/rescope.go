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
func (w *Watcher) Rescope(to *Selection) { w.to = to }

// Restart switches the watcher to a selection as Rescope does, but always with Reset and a
// snapshot, because the caller has not been sent everything that Next has returned.
func (w *Watcher) Restart(to *Selection) { w.to, w.restart = to, true }

// goOver switches to the next selection and returns the batch between both. The batch is never
// empty, because its position is the first one under the new selection. goOver reports false if it
// has begun a snapshot instead. If the context ends meanwhile, the next call begins with a
// snapshot.
func (w *Watcher) goOver(ctx context.Context) (batch Batch, ok bool, err error) {
	passed, ok := w.passOver()
	if !ok {
		w.startAnew()
		return Batch{}, false, nil
	}
	if batch, err = passed.lead(ctx, w.selection, w.to); err != nil {
		w.startAnew()
		return Batch{}, false, err
	}
	w.selection, w.to = w.to, nil
	w.warner.count(batch)
	if len(batch.Events) == 0 {
		return bookmark(batch.Position, passed.freshness), true, nil
	}
	return batch, true, nil
}

// lead returns the batch between two selections. It uses a processor slot, and ends with the
// context.
func (p passedOver) lead(ctx context.Context, from, to *Selection) (Batch, error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return Batch{}, err
	}
	defer end()
	batch := Batch{Position: p.position, Freshness: p.freshness, rescoped: true}
	for _, lead := range []func(context.Context, *Selection, *Selection, *Batch) error{p.inBoth, p.left, p.entered} {
		if err := lead(ctx, from, to, &batch); err != nil {
			return Batch{}, err
		}
	}
	return batch, nil
}

// startAnew switches selections with a snapshot.
func (w *Watcher) startAnew() {
	w.selection, w.to, w.restart = w.to, nil, false
	w.options.Since, w.ahead = nil, ""
	w.join()
}

// passedOver is the difference between two selections, at one sequence number of the feed.
type passedOver struct {
	changes  []change   // pending changes
	held     candidates // of the old selection only
	holds    candidates // of the new selection only
	position Position
	version  string // of the feed
	// freshness is the cache's freshness at that time.
	freshness Freshness
}

// passOver moves the watcher's cursor to the feed's end and into the group of the next selection.
// It returns false if some of the changes up to there are unknown.
func (w *Watcher) passOver() (passedOver, bool) {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	feed := c.feed
	if w.restart || w.topic == nil || w.again || w.ahead != "" || w.epoch != feed.epoch.id || !feed.window.covers(w.place) ||
		w.snapshot != nil || w.catchUp != nil || w.pending != nil {
		return passedOver{}, false
	}
	holds := candidates{runs: c.store.candidates(w.to, w.selection)}
	if isMuch(holds, feed.limits.batchBytes) {
		return passedOver{}, false
	}
	passed := passedOver{
		changes:   append([]change(nil), feed.window.after(w.place)...),
		held:      candidates{runs: c.store.candidates(w.selection, w.to)},
		holds:     holds,
		position:  feed.position(time.Now()),
		version:   feed.version,
		freshness: c.freshnessLocked(),
	}
	w.place = feed.last
	feed.watchers.leave(w.topic)
	w.topic = feed.watchers.join(w.to, false, feed.last)
	feed.looked.Add(int64(len(passed.changes) + len(w.topic.namespaces)))
	return passed, true
}

// isMuch reports whether the added namespaces may have more objects than are sent in one batch. A
// snapshot is sent in parts.
func isMuch(holds candidates, most int) bool {
	size := 0
	for _, run := range holds.runs {
		for _, object := range run {
			if size += object.Size(); size > most {
				return true
			}
		}
	}
	return false
}

// inBoth adds the changes in namespaces of both selections.
func (p passedOver) inBoth(ctx context.Context, from, to *Selection, batch *Batch) error {
	for _, step := range p.changes {
		if err := fairqueue.Yield(ctx); err != nil {
			return err
		}
		if !from.reaches(step.object().namespace) {
			continue
		}
		if event, ok := to.see(step, &batch.unvalued); ok {
			event.Before = nil // the other events of the batch are at the same step
			batch.Events = append(batch.Events, event)
		}
	}
	return nil
}

// left adds deletions of the caller's objects in removed namespaces: the objects that the selection
// had before the pending changes.
func (p passedOver) left(ctx context.Context, from, to *Selection, batch *Batch) error {
	changed := make(map[string]bool) // by key
	leave := func(object *Object) error {
		if object != nil && !to.reaches(object.namespace) && from.Matches(object) {
			head := gone(object, object.uid, p.version)
			batch.Events = append(batch.Events, Event{Type: Deleted, Object: head, ResourceVersion: p.version})
		}
		return fairqueue.Yield(ctx)
	}
	for _, step := range p.changes {
		if place := step.object().key(); !changed[place] {
			changed[place] = true
			if err := leave(step.before); err != nil {
				return err
			}
		}
	}
	held, err := p.held.merged(ctx)
	if err != nil {
		return err
	}
	for _, object := range held {
		if !changed[object.key()] {
			if err := leave(object); err != nil {
				return err
			}
		}
	}
	return nil
}

// entered adds the objects in added namespaces.
func (p passedOver) entered(ctx context.Context, from, to *Selection, batch *Batch) error {
	holds, err := p.holds.merged(ctx)
	if err != nil {
		return err
	}
	for _, object := range holds {
		if err := fairqueue.Yield(ctx); err != nil {
			return err
		}
		if !from.reaches(object.namespace) && to.holds(object, &batch.unvalued) {
			batch.Events = append(batch.Events, Event{Type: Added, Object: object.Masked(to.fields), ResourceVersion: p.version})
		}
	}
	return nil
}
