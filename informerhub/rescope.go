package informerhub

import (
	"context"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// Rescope has the watcher go over to a selection that differs from its own in
// Namespaces alone. The next answer of Next tells the difference, at one place of the
// feed: what has happened in the namespaces of both; Deleted, without content, for what
// the caller holds in those that are left; and Added for what is in those that are
// entered. What has happened unread in a namespace that is left is not told any more.
// Where the feed does not lead on from the watcher's place, that answer is Reset and
// a snapshot.
func (w *Watcher) Rescope(to *Selection) { w.to = to }

// Restart has the watcher go over to a selection like Rescope, always by Reset and a snapshot: the
// caller has not been sent all that Next has returned.
func (w *Watcher) Restart(to *Selection) { w.to, w.restart = to, true }

// goOver goes over to the selection that is due, and returns what leads there: never
// nothing, because its position is the first under the new selection. It reports false
// where a snapshot does, which is begun. If the context ends meanwhile, the next call begins
// with a snapshot.
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

// lead returns the batch that leads from one selection to another. It takes a turn of the
// processors, and ends with the context.
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

// startAnew goes over by a snapshot.
func (w *Watcher) startAnew() {
	w.selection, w.to, w.restart = w.to, nil, false
	w.options.Since, w.ahead = nil, ""
	w.join()
}

// passedOver is what lies between two selections, all at one place of the feed.
type passedOver struct {
	changes  []change   // what waited
	held     candidates // of the old selection, where the new one does not reach
	holds    candidates // of the new one, where the old one does not reach
	position Position
	version  string // the feed's
	// freshness is the cache's at that place.
	freshness Freshness
}

// passOver moves the watcher's place to the feed's end and into the topic of the
// selection that is due; false if the changes up to there are not all known.
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
	feed.topics.leave(w.topic)
	w.topic = feed.topics.join(w.to, false, feed.last)
	feed.looked.Add(int64(len(passed.changes) + len(w.topic.namespaces)))
	return passed, true
}

// isMuch reports whether there may be more in the namespaces that are entered than is sent at
// once. A snapshot is sent in parts.
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

// inBoth adds the changes in the namespaces of both selections.
func (p passedOver) inBoth(ctx context.Context, from, to *Selection, batch *Batch) error {
	for _, step := range p.changes {
		if err := fairqueue.Yield(ctx); err != nil {
			return err
		}
		if !from.reaches(step.object().namespace) {
			continue
		}
		if event, ok := to.see(step, &batch.unvalued); ok {
			event.Before = nil // what comes with it is told in one step
			batch.Events = append(batch.Events, event)
		}
	}
	return nil
}

// left adds that what the caller holds in namespaces that are left is gone: what the
// selection held where the changes that wait begin.
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

// entered adds what there is in namespaces that are entered.
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
