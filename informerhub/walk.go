package informerhub

import (
	"context"
	"strings"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// snapshotWalk is a snapshot that is being sent. It is taken in parts, in the order of
// namespace and name, each when the one before it has been sent. So a reader that is
// slow, or stands still, holds on to one part of the objects and not to all of them as
// they were when it began.
//
// With each part the watcher reads the changes since the last one. It sends those of
// objects that it has passed, and skips those of objects that are still to come. So at
// each place of the feed where it stands, the client holds exactly what the selection
// holds there of the objects up to cursor; and when there is nothing left behind cursor,
// of all objects.
type snapshotWalk struct {
	cursor    *ObjectName // the last object that was looked at; nil before the first part
	by        *lookup     // what the objects are looked up by; nil if by nothing
	filtering filtering
}

// passed reports whether the walk has passed an object when it stood at a cursor.
func (cursor *ObjectName) passed(object *Object) bool {
	return cursor != nil && object.compare(cursor.Namespace, cursor.Name) <= 0
}

// beginSnapshotLocked has the watcher begin anew with a snapshot, at the feed's end.
func (w *Watcher) beginSnapshotLocked() {
	feed := w.cache.feed
	w.ahead, w.catchUp = "", nil
	w.snapshot = &snapshotWalk{filtering: filtering{filter: w.selection.filter}}
	w.epoch, w.place = feed.epoch.id, feed.last
}

// readSnapshotLocked returns what has changed of the objects that the walk has passed,
// and the next part of the snapshot.
func (w *Watcher) readSnapshotLocked() reading {
	feed, walk := w.cache.feed, w.snapshot
	taken := reading{}
	if walk.cursor != nil {
		if taken = w.readWaitingLocked(feed.end()); taken.more {
			taken.part, taken.broken = &snapshotPart{walk: walk, passed: walk.cursor}, true
			return taken
		}
	}
	part := &snapshotPart{walk: walk, passed: walk.cursor, version: feed.version}
	if walk.cursor == nil {
		walk.by = w.cache.store.stepwise(w.selection)
	}
	part.objects, part.ends = w.cache.store.next(w.selection, walk.by, walk.cursor, feed.limits)
	if n := len(part.objects); n > 0 {
		last := part.objects[n-1]
		// The strings of an object keep its bytes in memory.
		walk.cursor = &ObjectName{Namespace: strings.Clone(last.namespace), Name: strings.Clone(last.name)}
	}
	if part.ends {
		w.snapshot = nil
	}
	taken.part = part
	taken = w.moveLocked(taken, feed.end())
	taken.more, taken.broken = !part.ends, !part.ends
	return taken
}

// snapshotPart is a part of a snapshot.
type snapshotPart struct {
	walk    *snapshotWalk
	passed  *ObjectName // what the walk had passed before: changes of other objects are skipped; nil in the first part
	ends    bool        // it is the last part
	objects []*Object   // candidates, yet to be matched
	version string      // at which they were taken
}

// complete makes a batch of changes one of a part of a snapshot. It takes from the part what it
// has matched, so that it can be called again when the context has ended.
func (p *snapshotPart) complete(ctx context.Context, batch *Batch, sel *Selection) error {
	if !batch.snapshot {
		p.begin(batch)
	}
	for i := 0; len(p.objects) > 0; i++ {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return err
			}
		}
		object := p.objects[0]
		keeps, err := p.walk.filtering.selects(ctx, sel, object)
		if err != nil {
			return err
		}
		if keeps {
			batch.Events = append(batch.Events, Event{Type: Added, Object: object.Masked(sel.fields), ResourceVersion: object.version})
		}
		p.objects = p.objects[1:]
	}
	if p.ends {
		batch.Events = append(batch.Events, Event{Type: Synced, ResourceVersion: p.version})
		batch.unvalued.merge(p.walk.filtering.out)
	}
	return nil
}

// begin makes a batch of changes the beginning of a part.
func (p *snapshotPart) begin(batch *Batch) {
	batch.snapshot = true
	for i := range batch.Events {
		batch.Events[i].Before = nil
	}
	if p.passed == nil {
		batch.Events = append([]Event{{Type: Reset, ResourceVersion: p.version}}, batch.Events...)
	}
}
