package informerhub

import (
	"sync"
	"weak"
)

// round is what the watchers of one topic read from one time that it was shown to
// the next. Those that have the same selection and come from the same place get the
// same batch, which is made, and encoded, once for them all.
type round struct {
	over chan struct{} // closed when there is more to read

	mu sync.Mutex // guards made; no other lock is taken while it is held
	// made holds nothing alive: a batch lives as long as some watcher sends it.
	made map[passage]weak.Pointer[sharedBatch]
}

// passage is what a watcher reads: a selection's changes from one place in the feed to
// another.
type passage struct {
	selection string
	from, to  uint64
}

func newRound() *round { return &round{over: make(chan struct{})} }

// share answers the batch of a passage, which all who read that share.
func (r *round) share(p passage, read func() Batch) Batch {
	shared := r.find(p)
	shared.once.Do(func() { shared.batch = read() })
	batch := shared.batch
	batch.shared = shared
	return batch
}

func (r *round) find(p passage) *sharedBatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shared := r.made[p].Value(); shared != nil {
		return shared
	}
	if r.made == nil {
		r.made = make(map[passage]weak.Pointer[sharedBatch])
	}
	shared := &sharedBatch{}
	r.made[p] = weak.Make(shared)
	return shared
}

// sharedBatch is a batch that several watchers have been given, and what was made of
// it for them.
type sharedBatch struct {
	once  sync.Once
	batch Batch

	mu      sync.Mutex // guards encoded; held while encoding, so that it is done once
	encoded map[any]any
}

// IsShared reports whether other watchers can have been given the same batch.
func (b Batch) IsShared() bool { return b.shared != nil }

// Encoded answers what encode makes of the batch: made once, for each key, for all
// watchers that have been given the same batch. Nobody may change the answer. False if
// no other watcher can have been given it: then encode is not called.
func (b Batch) Encoded(key any, encode func() any) (made any, ok bool) {
	if b.shared == nil {
		return nil, false
	}
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	if made, ok := b.shared.encoded[key]; ok {
		return made, true
	}
	if b.shared.encoded == nil {
		b.shared.encoded = make(map[any]any)
	}
	made = encode()
	b.shared.encoded[key] = made
	return made, true
}
