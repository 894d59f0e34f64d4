package informerhub

import (
	"sync"
	"weak"
)

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
	mu    sync.Mutex // guards the fields below; see Watcher.finish
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
