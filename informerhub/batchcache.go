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

// batchKey identifies a batch: a selection's changes between two sequence numbers.
type batchKey struct {
	selection string
	from, to  uint64
}

func newBatchCache() *batchCache { return &batchCache{done: make(chan struct{})} }

// share returns the batch of a key. All watchers that read the key share it.
func (r *batchCache) share(key batchKey, read func() Batch) Batch {
	shared := r.find(key)
	shared.once.Do(func() { shared.batch = read() })
	batch := shared.batch
	batch.shared = shared
	return batch
}

func (r *batchCache) find(key batchKey) *sharedBatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shared := r.batches[key].Value(); shared != nil {
		return shared
	}
	if r.batches == nil {
		r.batches = make(map[batchKey]weak.Pointer[sharedBatch])
	}
	shared := &sharedBatch{}
	r.batches[key] = weak.Make(shared)
	return shared
}

// sharedBatch is a batch that several watchers share, with its encodings.
type sharedBatch struct {
	once  sync.Once
	batch Batch

	mu      sync.Mutex // guards encoded; held while encoding, so that each encoding is made once
	encoded map[any]any
}

// IsShared reports whether other watchers may have received the same batch.
func (b Batch) IsShared() bool { return b.shared != nil }

// Encoded returns the result of encode for the batch. It is encoded once for each key, for all
// watchers that share the batch, and must not be changed. Encoded returns false, without calling
// encode, if no other watcher can have received the batch.
func (b Batch) Encoded(key any, encode func() any) (result any, ok bool) {
	if b.shared == nil {
		return nil, false
	}
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	if result, ok := b.shared.encoded[key]; ok {
		return result, true
	}
	if b.shared.encoded == nil {
		b.shared.encoded = make(map[any]any)
	}
	result = encode()
	b.shared.encoded[key] = result
	return result, true
}
