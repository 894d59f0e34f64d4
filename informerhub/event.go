package informerhub

import (
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// EventType is the type of an event.
type EventType uint8

// The types of events. kubeconnect.v1.EventType documents their meanings.
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Reset
	Synced
	Bookmark
)

// Event is one step in the history of a selection. Object is nil for Reset, Synced and Bookmark.
// The object of Deleted is the last one that the selection contained, or only its head.
// ResourceVersion is the version of the event itself.
type Event struct {
	Type            EventType
	Object          *Object
	ResourceVersion string
	// Before is the reader's current state of the object, for Modified. It is nil if that state is
	// uncertain: in snapshots, in latest states, after events of another replica, and in a switch
	// to another selection.
	Before *Object

	step   uint64 // see change
	closes string // see change
}

// Batch is the events that a watcher delivers at once.
type Batch struct {
	Events []Event
	// Position is after the last event.
	Position Position
	// Through is the version of the last change of the resource, in this selection or not, that was
	// read for the batch. It is newer than Position if that change is a deletion, and others may have
	// been deleted at its version.
	Through string
	// Freshness is the freshness of the cache when the batch was read.
	Freshness Freshness
	// Since is the time at which the cache has taken over the oldest change that was read for the batch,
	// in this selection or not; zero for anything but changes.
	Since time.Time
	// Warnings are messages for the user of the stream: the number of objects for which the filter
	// has no value, in the snapshot or since the last warning.
	Warnings []string

	// deletion is the Deletion of the position after a Bookmark.
	deletion Deletion

	snapshot    bool // the events are a part of a snapshot
	compacted   bool // the events are latest states, not steps
	rescoped    bool // the events switch to another selection
	unresumable bool // a stream cannot be resumed after the batch
	unvalued    unvaluedCount
	shared      *sharedBatch
}

// PositionAfter returns the position after one of the events. It reports false where a stream
// cannot be resumed: within a snapshot, within latest states, within a switch to another selection,
// and within changes that were applied in one step.
func (b Batch) PositionAfter(i int) (Position, bool) {
	switch {
	case i == len(b.Events)-1:
		return b.withDeletion(b.Position, i), !b.unresumable
	case b.snapshot || b.compacted || b.rescoped || b.Events[i].step == b.Events[i+1].step:
		return Position{}, false
	}
	position := b.Position
	position.Version = b.Events[i].ResourceVersion
	if b.Events[i+1].ResourceVersion == position.Version {
		position.Version = b.Events[i].closes
	}
	return b.withDeletion(position, i), true
}

// withDeletion adds what was deleted after the version of a position, up to an event of the batch.
func (b Batch) withDeletion(position Position, i int) Position {
	switch event := b.Events[i]; {
	case event.Type == Bookmark:
		position.Deletion = b.deletion
	case event.Type == Deleted && b.HasSteps() && object.Older(position.Version, event.ResourceVersion):
		position.Deletion = Deletion{event.ResourceVersion, event.Object.UID()}
	}
	return position
}

// Unresumable returns the batch as one after which a stream cannot be resumed.
func (b Batch) Unresumable() Batch {
	b.unresumable = true
	return b
}

// HasSteps reports whether the events are the steps since the previous batch, each with the state of
// the object before it. It is false in snapshots, in latest states, and in a switch to another
// selection. If a stream can be resumed after the batch (see PositionAfter), the steps lead to the
// selection's content at Through.
func (b Batch) HasSteps() bool { return !b.snapshot && !b.compacted && !b.rescoped }

// Sizes returns the approximate bytes of objects that the batch retains, and those that its largest
// event retains.
func (b Batch) Sizes() (all, largest int) {
	for _, event := range b.Events {
		size := event.Object.RetainedSize() + event.Before.RetainedSize()
		all += size
		largest = max(largest, size)
	}
	return all, largest
}

// hasSyncedOrBookmark reports whether an event of the batch is a Synced or a Bookmark.
func (b Batch) hasSyncedOrBookmark() bool {
	return slices.ContainsFunc(b.Events, func(e Event) bool { return e.Type == Synced || e.Type == Bookmark })
}

// bookmark returns a batch with a Bookmark after a batch without events.
func (b Batch) bookmark() Batch {
	following := bookmark(b.Position, b.Freshness)
	following.Through = b.Through
	return following
}

// bookmark returns a batch with a Bookmark: everything up to its position has been delivered.
func bookmark(position Position, freshness Freshness) Batch {
	return Batch{
		Events:   []Event{{Type: Bookmark, ResourceVersion: position.Version}},
		Position: position, Freshness: freshness,
	}
}

// EncodedPatch returns a Modified object as an encoded difference to the previous one; nil if it
// cannot be expressed. See [object.Object.EncodedPatch].
func (e Event) EncodedPatch(encoding object.PatchEncoding) []byte {
	if e.Before == nil {
		return nil
	}
	return e.Object.EncodedPatch(e.Before, encoding)
}
