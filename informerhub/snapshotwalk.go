package informerhub

import (
	"context"
	"strings"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// snapshotWalk is a snapshot that is being sent. It is read in parts, in the order of namespace and
// name, each part after the previous one was sent. A slow or stopped reader therefore retains one
// part of the objects, and not all objects as of the beginning.
//
// With each part the watcher reads the changes since the last part. It sends those of objects that
// the walk has passed, and skips those of later objects. So at each of its cursors in the feed, the
// client holds exactly the selection's objects up to the walk's cursor, as they are there. When no
// objects are left after the walk's cursor, the client holds all of them.
type snapshotWalk struct {
	cursor    *ObjectName // the last object that was examined; nil before the first part
	index     *lookup     // lookup for the objects; nil without an index
	filtering filtering
}

// passed reports whether a walk at a cursor has passed an object.
func (cursor *ObjectName) passed(object *Object) bool {
	return cursor != nil && object.Compare(cursor.Namespace, cursor.Name) <= 0
}

// beginSnapshotLocked makes the watcher begin with a snapshot, at the feed's end.
func (w *Watcher) beginSnapshotLocked() {
	feed := w.cache.feed
	w.deliveredThrough, w.unchecked, w.catchUp = "", "", nil
	w.snapshot = &snapshotWalk{filtering: filtering{filter: w.selection.filter}}
	w.epoch, w.cursor = feed.epoch.id, feed.last
}

// readSnapshotLocked returns the changes to the objects that the walk has passed, and the next part
// of the snapshot.
func (w *Watcher) readSnapshotLocked() readResult {
	feed, walk := w.cache.feed, w.snapshot
	result := readResult{}
	if walk.cursor != nil {
		if result = w.readPendingLocked(feed.end()); result.more {
			result.part, result.unresumable = &snapshotPart{walk: walk, passed: walk.cursor}, true
			return result
		}
	}
	part := &snapshotPart{walk: walk, passed: walk.cursor, version: feed.version}
	if walk.cursor == nil {
		walk.index = w.cache.store.stepwise(w.selection)
	}
	part.objects, part.ends = w.cache.store.next(w.selection, walk.index, walk.cursor, feed.limits)
	if n := len(part.objects); n > 0 {
		last := part.objects[n-1]
		// The strings of an object retain its bytes.
		walk.cursor = &ObjectName{Namespace: strings.Clone(last.Namespace()), Name: strings.Clone(last.Name())}
	}
	if part.ends {
		w.snapshot = nil
	}
	result.part = part
	result = w.advanceLocked(result, feed.end())
	result.more, result.unresumable = !part.ends, !part.ends
	return result
}

// snapshotPart is a part of a snapshot.
type snapshotPart struct {
	walk *snapshotWalk
	// passed is the walk's cursor before this part; nil in the first part. Changes of later objects
	// are skipped.
	passed  *ObjectName
	ends    bool      // last part
	objects []*Object // candidates that are not matched yet
	version string    // of the cache when they were read
}

// complete adds a part of a snapshot to a batch of changes. It removes what it has matched from the
// part, so that it can be called again after the context has ended.
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
		keeps, err := p.walk.filtering.matches(ctx, sel, object)
		if err != nil {
			return err
		}
		if keeps {
			event := Event{Type: Added, Object: object.Masked(sel.fields), ResourceVersion: object.ResourceVersion()}
			batch.Events = append(batch.Events, event)
		}
		p.objects = p.objects[1:]
	}
	if p.ends {
		batch.Events = append(batch.Events, Event{Type: Synced, ResourceVersion: p.version})
		batch.unvalued.merge(p.walk.filtering.unvalued)
	}
	return nil
}

// begin marks a batch of changes as the beginning of a part.
func (p *snapshotPart) begin(batch *Batch) {
	batch.snapshot = true
	for i := range batch.Events {
		batch.Events[i].Before = nil
	}
	if p.passed == nil {
		batch.Events = append([]Event{{Type: Reset, ResourceVersion: p.version}}, batch.Events...)
	}
}
