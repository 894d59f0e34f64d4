package follow

import (
	"context"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
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
	// Account is that of the stream. It is charged for the state, unless another stream of the follower is.
	Account ledger.Account
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
	mu      sync.Mutex // guards running, and the streams of each follower; taken before the ledger's lock, and after that of a follower's state
	running map[key[K]]*Follower[K, S]
}

// NewFollowers returns an empty set of followers. They end while no stream has joined them if the ledger,
// which has the accounts of streams, is short of memory.
func NewFollowers[K comparable, S State](l *ledger.Ledger) *Followers[K, S] {
	fs := &Followers[K, S]{running: make(map[key[K]]*Follower[K, S])}
	l.OnShortage(fs.endAllIdle)
	return fs
}

// Use returns the number of running followers, and their memory in bytes.
func (fs *Followers[K, S]) Use() (followers, bytes int) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.running {
		bytes += int(f.bytes.Load())
	}
	return len(fs.running), bytes
}

// Join returns the follower of a question, after its first publication. It starts one with the state
// that create returns, if there is none. The state can call grown with its bytes during a change that makes it grow
// by much, and ends the change with the error. The caller must call Leave with the same account. Join fails with the error
// of the follower's watcher, [ledger.ErrFull], an error of the state, or the cause of ctx.
func (fs *Followers[K, S]) Join(ctx context.Context, question Question[K], create func(grown func(bytes int) error) S) (*Follower[K, S], error) {
	f := fs.join(ctx, question, create)
	if err := f.Wait(ctx, Moment{}, nil); err != nil {
		f.Leave(question.Account)
		return nil, err
	}
	return f, nil
}

// join adds a stream to the follower of a question.
func (fs *Followers[K, S]) join(ctx context.Context, question Question[K], create func(grown func(bytes int) error) S) *Follower[K, S] {
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
	fs.addStreamLocked(f, question.Account, fairqueue.PayerOf(ctx))
	return f
}

// addStreamLocked counts a stream of an account for a follower.
func (fs *Followers[K, S]) addStreamLocked(f *Follower[K, S], account ledger.Account, payer fairqueue.Payer) {
	if of := f.accounts[account]; of != nil {
		of.streams++
		return
	}
	f.accounts[account] = &users{1, payer}
	fs.chargeStreamsLocked(f)
	f.shareWorkLocked()
}

// shareWorkLocked makes the callers of all streams pay for the work of the follower, also for a processor slot that it
// waits for. Without streams, the callers of the last ones pay.
func (f *Follower[K, S]) shareWorkLocked() {
	if len(f.accounts) == 0 {
		return
	}
	f.payers = nil
	for _, of := range f.accounts {
		f.payers = append(f.payers, of.payer)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// start starts a follower. It has the values of the context of the first stream. It has neither its end nor
// the pace of its caller, because streams of other callers may join, and it works in processor slots of
// the one of these callers that gets one first.
func (fs *Followers[K, S]) start(ctx context.Context, k key[K], question Question[K], create func(grown func(bytes int) error) S) *Follower[K, S] {
	ctx, cancel := context.WithCancelCause(fairqueue.WithPace(context.WithoutCancel(ctx), nil))
	charge, _ := question.Account.Charge(0) // the goroutine resizes it: no memory can be released under the lock
	f := &Follower[K, S]{
		all: fs, key: k, private: question.Private, cancel: cancel, ended: make(chan struct{}),
		published: make(chan struct{}), flush: make(chan struct{}, 1),
		charge: charge, charged: question.Account, accounts: make(map[ledger.Account]*users), changed: make(chan struct{}),
	}
	ctx = fs.sharedWork(ctx, f)
	r := &run[K, S]{
		Follower: f, selection: question.Selection, create: create,
		watcher: question.Cache.Watch(question.Selection, informerhub.WatchOptions{}), watching: question.Cache.WatcherBytes(),
	}
	go r.follow(ctx)
	return f
}

// leave removes a stream from a follower.
func (fs *Followers[K, S]) leave(f *Follower[K, S], account ledger.Account) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.streams--
	of := f.accounts[account]
	if of.streams--; of.streams == 0 {
		delete(f.accounts, account)
		f.shareWorkLocked()
	}
	switch {
	case f.streams > 0:
		fs.chargeStreamsLocked(f)
	case f.idle != nil:
	case f.private:
		fs.endLocked(f, errStopped)
	default:
		f.idle = time.AfterFunc(linger, func() { fs.endIdle(f) })
	}
}

// chargeStreamsLocked moves the charge of a follower to the account of one of its streams, unless it is
// there. The follower ends if none of them can be charged.
func (fs *Followers[K, S]) chargeStreamsLocked(f *Follower[K, S]) {
	if f.accounts[f.charged] != nil {
		return
	}
	for account := range f.accounts {
		if f.charge.Move(account) == nil {
			f.charged = account
			return
		}
	}
	fs.endLocked(f, ledger.ErrFull)
}

// resizeElsewhere charges the account of another stream of a follower, for another number of bytes. It
// fails with [ledger.ErrFull] if none of them can be charged.
func (fs *Followers[K, S]) resizeElsewhere(f *Follower[K, S], bytes int) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for account := range f.accounts {
		if account != f.charged && f.charge.MoveResized(account, bytes) == nil {
			f.charged = account
			return nil
		}
	}
	return ledger.ErrFull
}

// sharedWork returns a context in which the callers of a follower's streams pay for its work.
func (fs *Followers[K, S]) sharedWork(ctx context.Context, f *Follower[K, S]) context.Context {
	return fairqueue.WithPayers(ctx, func() ([]fairqueue.Payer, <-chan struct{}) { return fs.payersOf(f) })
}

// payersOf returns who pays for the work of a follower, and a channel that is closed when that changes.
func (fs *Followers[K, S]) payersOf(f *Follower[K, S]) ([]fairqueue.Payer, <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return f.payers, f.changed
}

// endIdle ends a follower unless a stream has joined it.
func (fs *Followers[K, S]) endIdle(f *Follower[K, S]) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.streams == 0 {
		fs.endLocked(f, errStopped)
	}
}

// endLocked ends a follower with an error for its streams. It has ended when its channel ended is closed.
func (fs *Followers[K, S]) endLocked(f *Follower[K, S], err error) {
	if fs.running[f.key] == f {
		delete(fs.running, f.key)
	}
	if f.idle != nil {
		f.idle.Stop()
	}
	f.cancel(err)
	f.charge.Release()
}

// forget removes a follower that has failed, so that the next stream starts another one.
func (fs *Followers[K, S]) forget(f *Follower[K, S]) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.endLocked(f, errStopped) // its streams have the error with which it has failed
}

// endAllIdle ends the followers without streams, to release their memory.
func (fs *Followers[K, S]) endAllIdle() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.running {
		if f.streams == 0 {
			fs.endLocked(f, errStopped)
		}
	}
}
