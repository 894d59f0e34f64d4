package informerhub

import (
	"math"
	"time"
)

// Rescope has the watcher go over to a selection that differs from its own in
// Namespaces alone. The next answer of Next tells the difference, at one place of the
// feed: what has happened in the namespaces of both; Deleted, without content, for what
// the caller holds in those that are left; and Added for what is in those that are
// entered. What has happened unread in a namespace that is left is not told any more.
// Where the feed does not lead on from the watcher's place, that answer is Reset and
// a snapshot.
func (w *Watcher) Rescope(to *Selection) { w.to = to }

// goOver goes over to the selection that is due, and returns what leads there: never
// nothing, because its position is the first under the new selection. It reports false
// where a snapshot does, which is begun.
func (w *Watcher) goOver() (Batch, bool) {
	passed, ok := w.passOver()
	if !ok {
		w.startAnew()
		return Batch{}, false
	}
	from, to := w.selection, w.to
	w.selection, w.to = to, nil
	batch := Batch{Position: passed.position, Freshness: passed.freshness, rescoped: true}
	batch.Events = append(batch.Events, passed.inBoth(from, to, &batch.unvalued)...)
	batch.Events = append(batch.Events, passed.left(from, to)...)
	batch.Events = append(batch.Events, passed.entered(from, to, &batch.unvalued)...)
	w.warner.count(batch)
	if len(batch.Events) == 0 {
		return bookmark(batch.Position, passed.freshness), true
	}
	return batch, true
}

// startAnew goes over by a snapshot.
func (w *Watcher) startAnew() {
	w.selection, w.to = w.to, nil
	w.options.Since, w.ahead = nil, ""
	w.join()
}

// passedOver is what lies between two selections, all at one place of the feed.
type passedOver struct {
	changes  []change  // what waited
	held     []*Object // among them is what the old selection holds
	holds    []*Object // and the new one
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
	if w.topic == nil || w.again || w.ahead != "" || w.epoch != feed.epoch.id || !feed.window.covers(w.place) ||
		w.snapshot != nil || w.catchUp != nil || w.entersMuchLocked() {
		return passedOver{}, false
	}
	passed := passedOver{
		changes:   append([]change(nil), feed.window.after(w.place)...),
		held:      c.candidatesLocked(w.selection).Objects,
		holds:     c.candidatesLocked(w.to).Objects,
		position:  feed.position(time.Now()),
		version:   feed.version,
		freshness: c.freshnessLocked(),
	}
	w.place = feed.last
	feed.topics.leave(w.topic)
	w.topic = feed.topics.join(w.to, false, feed.last)
	return passed, true
}

// entersMuchLocked reports whether there may be more in the namespaces that are entered
// than is sent at once. A snapshot is sent in parts.
func (w *Watcher) entersMuchLocked() bool {
	size := 0
	for object := range w.cache.store.behind(w.to, nil, math.MaxInt) {
		if !w.selection.reaches(object) {
			size += object.Size()
		}
		if size > w.cache.feed.limits.batchBytes {
			return true
		}
	}
	return false
}

// inBoth are the changes in the namespaces of both selections.
func (p passedOver) inBoth(from, to *Selection, unvalued *leftOut) (events []Event) {
	for _, step := range p.changes {
		if !from.reaches(step.object()) {
			continue
		}
		if event, ok := to.see(step, unvalued); ok {
			event.Before = nil // what comes with it is told in one step
			events = append(events, event)
		}
	}
	return events
}

// left is that what the caller holds in namespaces that are left is gone: what the
// selection held where the changes that wait begin.
func (p passedOver) left(from, to *Selection) (events []Event) {
	isLeft := func(object *Object) bool { return object != nil && !to.reaches(object) && from.Matches(object) }
	changed := make(map[string]bool) // by key
	leave := func(object *Object) {
		if isLeft(object) {
			head := gone(object, object.uid, p.version)
			events = append(events, Event{Type: Deleted, Object: head, ResourceVersion: p.version})
		}
	}
	for _, step := range p.changes {
		if place := step.object().key(); !changed[place] {
			changed[place] = true
			leave(step.before)
		}
	}
	for _, object := range p.held {
		if !changed[object.key()] {
			leave(object)
		}
	}
	return events
}

// entered is what there is in namespaces that are entered.
func (p passedOver) entered(from, to *Selection, unvalued *leftOut) (events []Event) {
	for _, object := range p.holds {
		if !from.reaches(object) && to.holds(object, unvalued) {
			events = append(events, Event{Type: Added, Object: object.Masked(to.fields), ResourceVersion: p.version})
		}
	}
	return events
}
