package follow

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// State is what is computed from the objects of a selection. Its methods are called by one goroutine
// at a time.
type State interface {
	// Change applies one change of the selection. before is nil for an object that was added, and
	// after for one that was removed. generation is the one that the change is published as; 0 while
	// the state is filled with a snapshot. After an error the state is discarded.
	Change(before, after *informerhub.Object, generation uint64) error
	// Bytes estimates the memory of the state.
	Bytes() int
}

// Moment is what a published state is computed from.
type Moment struct {
	// Epoch identifies the state. It grows when a new state was filled with a snapshot.
	Epoch uint64
	// Generation grows by one with each publication that contains a change.
	Generation uint64
	// Version is the version at which the state is true. Position is that of the watcher, whose version
	// can be older: see [informerhub.Batch].
	Version   string
	Position  informerhub.Position
	Freshness informerhub.Freshness
	// Warnings are messages for people: the number of objects for which the filter has no value.
	Warnings []string
}

// isAfter reports whether a stream that has read another moment has something to read.
func (m Moment) isAfter(other Moment) bool {
	return m.Epoch != other.Epoch || m.Generation != other.Generation || m.Freshness.Stale != other.Freshness.Stale
}

// users are the streams of one account.
type users struct {
	streams int
	payer   fairqueue.Payer // of one of the streams: they have the same caller
}

// Follower keeps one state true.
type Follower[K comparable, S State] struct {
	// Set once.
	all     *Followers[K, S]
	key     key[K]
	private bool
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed when the goroutine has ended
	flush   chan struct{} // has an element when Reach waits
	flushed atomic.Uint64 // number of publications with everything that the cache had at a request of flush
	charge  *ledger.Charge
	bytes   atomic.Int64 // that are charged

	// Guarded by all.mu.
	streams  int
	accounts map[ledger.Account]*users // of the streams, by account
	charged  ledger.Account            // the account of the charge: of a stream, or of the last one that has left
	payers   []fairqueue.Payer         // for the work: of the streams, or of the last one that has left
	changed  chan struct{}             // closed and replaced when the payers change
	idle     *time.Timer               // ends the follower; nil while a stream has joined it

	mu        sync.RWMutex // guards the fields below; taken before all.mu
	state     S
	at        Moment
	published chan struct{} // closed and replaced at each publication
	err       error         // why nothing is published any more
}

// Read calls read with the published state and its moment. The state does not change while read
// runs, and must not be used after that. Read must return soon: publications wait for it. Read fails
// with the error that ended the follower.
func (f *Follower[K, S]) Read(read func(state S, at Moment)) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.err == nil {
		read(f.state, f.at)
	}
	return f.err
}

// Wait blocks until there is something to read after a moment: a change, or a change of whether the
// cache is stale. The zero Moment is before the first publication. Wait fails with
// [informerhub.ErrInterrupted] once interrupt is closed, with the error that ended the follower, and
// with the cause of ctx.
func (f *Follower[K, S]) Wait(ctx context.Context, after Moment, interrupt <-chan struct{}) error {
	for {
		at, published, err := f.current()
		switch {
		case err != nil:
			return err
		case at.Epoch > 0 && at.isAfter(after):
			return nil
		}
		select {
		case <-published:
		case <-interrupt:
			return informerhub.ErrInterrupted
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Reach blocks until the published state has everything up to a position that the cache has reached. It
// returns nevertheless when everything that the cache had at the call is published: other objects can be deleted
// at its version later, or the position belongs to a history that was undone.
func (f *Follower[K, S]) Reach(ctx context.Context, position informerhub.Position) error {
	begun := f.flushed.Load()
	for {
		at, published, err := f.current()
		switch {
		case err != nil:
			return err
		case at.Position.Reaches(position), f.flushed.Load() > begun+1: // the first flush may have begun before the call
			return nil
		}
		select {
		case f.flush <- struct{}{}:
		default: // another stream waits already
		}
		select {
		case <-published:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// current returns the published moment, and a channel that is closed at the next publication.
func (f *Follower[K, S]) current() (at Moment, published <-chan struct{}, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.at, f.published, f.err
}

// Leave ends the use of the follower by one stream, with the account with which it has joined. If the cache
// is private, Leave returns when nothing uses the cache any more.
func (f *Follower[K, S]) Leave(account ledger.Account) {
	f.all.leave(f, account)
	if f.private {
		<-f.ended
	}
}
