package informerhub

import (
	"slices"
	"sync"
	"time"
	"weak"

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
	// part is what the batch was before it was merged with those of other namespaces; nil for a batch that was not.
	part *batchPart
}

// batchPart is a batch of one of several namespaces, and the place of that namespace in the merged position.
type batchPart struct {
	Batch
	index int
}

// PositionAfter returns the position after one of the events. It reports false where a stream
// cannot be resumed: within a snapshot, within latest states, within a switch to another selection,
// and within changes that were applied in one step.
func (b Batch) PositionAfter(i int) (Position, bool) {
	switch {
	case b.part != nil && i < len(b.part.Events):
		position, resumable := b.part.PositionAfter(i)
		return b.Position.with(b.part.index, position), resumable && !b.unresumable
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

// batchCache is the set of batches that the watchers of one watcher group read between two
// wake-ups. Watchers with the same selection and cursor share one batch, which is matched and
// encoded once for all of them.
type batchCache struct {
	done chan struct{} // closed when there is more to read

	mu sync.Mutex // guards batches; no other lock is taken while it is held
	// batches does not keep batches alive: a batch lives as long as some watcher sends it.
	batches map[batchKey]weak.Pointer[sharedBatch]
}

// batchKey identifies a batch: the changes of a selection between two sequence numbers of one watcher
// group, as they are delivered by watchers that no other replica was ahead of.
type batchKey struct {
	selection SelectionKey
	from      uint64
	to        feedEnd // after the last change; only the sequence number if more changes follow
	more      bool    // more changes follow, so that the position is the one of the last change
}

func newBatchCache() *batchCache { return &batchCache{done: make(chan struct{})} }

// share returns the batch of a key, which begin creates if there is none. All watchers that read the
// key share it.
func (r *batchCache) share(key batchKey, begin func() *sharedBatch) *sharedBatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shared := r.batches[key].Value(); shared != nil {
		return shared
	}
	if r.batches == nil {
		r.batches = make(map[batchKey]weak.Pointer[sharedBatch])
	}
	shared := begin()
	r.batches[key] = weak.Make(shared)
	return shared
}

// sharedBatch is a batch that several watchers make together, with the values that are derived from
// it. A batch of one watcher alone has the same type, and Batch.shared is nil.
type sharedBatch struct {
	mu    sync.Mutex // guards the fields below; see scopeWatcher.finish
	rest  readResult // what is not matched yet
	batch Batch      // never changed once it is made
	made  bool

	deriving sync.Mutex // guards derived; held while deriving, so that each value is derived once
	derived  map[any]any
}

// get returns the batch; false if it is not made yet.
func (b *sharedBatch) get() (Batch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.batch, b.made
}

// IsShared reports whether other watchers may have received the same batch.
func (b Batch) IsShared() bool { return b.shared != nil }

// derivedKey is the key of a value of type V. Values of different types do not conflict.
type derivedKey[K comparable, V any] struct{ key K }

// Derived returns the value that derive computes from a batch, such as an encoding of its events.
// All watchers that share the batch share the value: it is computed once for each key, must not be
// changed, and must depend on nothing but the batch and the key. A package that calls Derived
// defines a type of its own for its keys. Calls for one batch wait for each other. If no other
// watcher can have received the batch, derive is called at each call.
func Derived[K comparable, V any](b Batch, key K, derive func() V) V {
	if b.shared == nil {
		return derive()
	}
	b.shared.deriving.Lock()
	defer b.shared.deriving.Unlock()
	if value, ok := b.shared.derived[derivedKey[K, V]{key}]; ok {
		return value.(V)
	}
	if b.shared.derived == nil {
		b.shared.derived = make(map[any]any)
	}
	value := derive()
	b.shared.derived[derivedKey[K, V]{key}] = value
	return value
}
