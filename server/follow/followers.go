package follow

import (
	"context"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// linger is the time for which a follower continues after its last stream has left it. It is enough
// for a client to replace a stream by another one with the same question.
const linger = 10 * time.Second

// Question identifies a state, and says who asks for it. K is comparable: questions about one
// selection whose values of K are equal have the same state.
type Question[K comparable] struct {
	Cache     *informerhub.Cache
	Selection *informerhub.Selection
	// State identifies what is computed from the selection.
	State K
	// Caller is charged for the memory of a state that is started for this question.
	Caller string
	// Private reports that the cache belongs to one stream. Its follower ends when the stream leaves.
	Private bool
}

// key is equal for questions with the same answer.
type key[K comparable] struct {
	cache     *informerhub.Cache
	selection informerhub.SelectionKey
	state     K
}

// Followers are the running followers with one type of state, by what is computed.
type Followers[K comparable, S State] struct {
	budget *Budget

	mu      sync.Mutex // guards running, and the streams of each follower; no other lock is taken while it is held
	running map[key[K]]*Follower[K, S]
}

// NewFollowers returns an empty set of followers, which share a budget with others.
func NewFollowers[K comparable, S State](budget *Budget) *Followers[K, S] {
	fs := &Followers[K, S]{budget: budget, running: make(map[key[K]]*Follower[K, S])}
	budget.onShortage(fs.endAllIdle)
	return fs
}

// Join returns the follower of a question, after its first publication. It starts one with the state
// that create returns, if there is none. The caller must call Leave. Join fails with the error of the
// follower's watcher, [ErrMemory], an error of the state, or the cause of ctx.
func (fs *Followers[K, S]) Join(ctx context.Context, question Question[K], create func() S) (*Follower[K, S], error) {
	f := fs.join(ctx, question, create)
	if err := f.Wait(ctx, Moment{}, nil); err != nil {
		f.Leave()
		return nil, err
	}
	return f, nil
}

// join adds a stream to the follower of a question.
func (fs *Followers[K, S]) join(ctx context.Context, question Question[K], create func() S) *Follower[K, S] {
	k := key[K]{question.Cache, question.Selection.Key(), question.State}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.running[k]
	if f == nil {
		f = fs.start(ctx, k, question, create)
		fs.running[k] = f
	}
	if f.streams++; f.idle != nil {
		f.idle.Stop()
		f.idle = nil
	}
	return f
}

// start starts a follower. It has the values of the context of the first stream, such as its processor
// slots. It has neither its end nor the pace of its caller, because streams of other callers may join.
func (fs *Followers[K, S]) start(ctx context.Context, k key[K], question Question[K], create func() S) *Follower[K, S] {
	ctx, cancel := context.WithCancel(fairqueue.WithPace(context.WithoutCancel(ctx), nil))
	f := &Follower[K, S]{
		all: fs, key: k, private: question.Private, cancel: cancel, ended: make(chan struct{}),
		published: make(chan struct{}), flush: make(chan struct{}, 1),
		charge: charge{budget: fs.budget, caller: question.Caller},
	}
	r := &run[K, S]{
		Follower: f, selection: question.Selection, create: create,
		watcher: question.Cache.Watch(question.Selection, informerhub.WatchOptions{}),
	}
	go r.follow(ctx)
	return f
}

// leave removes a stream from a follower.
func (fs *Followers[K, S]) leave(f *Follower[K, S]) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.streams--
	switch {
	case f.streams > 0 || f.idle != nil:
	case f.private:
		fs.endLocked(f)
	default:
		f.idle = time.AfterFunc(linger, func() { fs.endIdle(f) })
	}
}

// endIdle ends a follower unless a stream has joined it.
func (fs *Followers[K, S]) endIdle(f *Follower[K, S]) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.streams == 0 {
		fs.endLocked(f)
	}
}

// endLocked ends a follower. It has ended when its channel ended is closed.
func (fs *Followers[K, S]) endLocked(f *Follower[K, S]) {
	if fs.running[f.key] == f {
		delete(fs.running, f.key)
	}
	if f.idle != nil {
		f.idle.Stop()
	}
	f.cancel()
	f.charge.release()
}

// forget removes a follower that has failed, so that the next stream starts another one.
func (fs *Followers[K, S]) forget(f *Follower[K, S]) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.endLocked(f)
}

// endAllIdle ends the followers without streams, to release their memory.
func (fs *Followers[K, S]) endAllIdle() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.running {
		if f.streams == 0 {
			fs.endLocked(f)
		}
	}
}
