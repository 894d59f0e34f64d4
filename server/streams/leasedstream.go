package streams

import (
	"context"
	"errors"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/access"
)

const (
	// BookmarkInterval is the longest time that a stream is silent while it waits for changes. It is shorter than the
	// time after which proxies close a silent stream.
	BookmarkInterval = 5 * time.Second
	// waitingInterval is the time since the last bookmark, or counts, after which a stream that waits for its
	// turn, or for a processor, repeats what its client has: that is promised at least every ten seconds.
	waitingInterval = 8 * time.Second
)

// source is what a leasedStream follows: it says when there is something to send, and encodes it. Its methods are called by the
// goroutine that follows the stream.
//
// Each next that succeeds is followed by one send. rescope is called only between a send and the following next, so it never
// finds an item that was read in the scope before. repeat is called between two calls of next, and also during send, while
// the lease cannot be renewed: it must leave the item of send as it is.
type source interface {
	// next blocks until there is something to send, or until ctx is done. It returns informerhub.ErrInterrupted if changed
	// is closed before. The source keeps the item: what a function returns stays on the stack of every function above it, and
	// the stacks of idle streams are most of their memory. If ctx is done, next returns the cause of ctx, and the following call
	// continues where this call has stopped.
	next(ctx context.Context, changed <-chan struct{}) error
	// send sends what next has found, by leasedStream.send.
	send(ctx context.Context) error
	// repeat sends that the client still has everything, or that what it has may be stale, and nothing else. It needs no
	// lease, because the client has received all of that before. After it was sent as stale, next finds an item at once that
	// reports that the client is current again.
	repeat(ctx context.Context, stale bool) error
	// markedAt returns when a message last reported how current the stream is; false if there is nothing to repeat.
	markedAt() (time.Time, bool)
	// scope returns the namespaces that the source reads, and rescope switches to the namespaces of the lease.
	scope() auth.Namespaces
	rescope(ctx context.Context) error
}

// leasedStream sends the items of a source under an access lease. It alone decides when something may be sent, and what the
// client receives meanwhile:
//
//   - An item is sent only under a valid lease. A lease that is due is renewed before.
//   - While the lease cannot be renewed, because the cluster cannot be asked, the source repeats what the client has, as stale.
//   - If the scope of the lease changes, the source is switched to it before anything else is sent.
//   - While the source waits for its turn or for a processor, it repeats what the client has, so that the stream is not silent.
//
// A leasedStream is a value without state: both fields are set once, and belong to the goroutine that follows the stream.
type leasedStream struct {
	lease  *access.Lease
	source source
}

// follow sends items until the client disconnects or the source ends. It returns the error that ends the stream, and never nil.
func (l leasedStream) follow(ctx context.Context) error {
	for {
		// The lease comes first: it can be due already when the stream begins, after a long wait for a first snapshot.
		if err := l.renew(ctx); err != nil {
			return err
		}
		// The scope comes before next, so that nothing is read in a scope that the lease no longer has.
		if !l.lease.Scope.Equal(l.source.scope()) {
			if err := l.source.rescope(ctx); err != nil {
				return err
			}
		}
		if err := l.followPeriod(ctx); err != nil {
			return err
		}
	}
}

// followPeriod sends items until the lease must be renewed, or has been renewed by a send.
//
// A send renews a lease that becomes due before its message is sent. The context of the period then ends too early, and the
// scope may be another one. Therefore both are compared after each send.
func (l leasedStream) followPeriod(ctx context.Context) error {
	period, cancel := l.lease.Period(ctx)
	defer cancel()
	for due := l.lease.Due; l.lease.Due.Equal(due) && l.lease.Scope.Equal(l.source.scope()); {
		if err := l.next(ctx, period); err != nil {
			return l.lease.EndOfPeriod(ctx, err)
		}
		// Not period: a message that was begun is sent to its end, and Lease.Send ends it if the lease is lost meanwhile.
		if err := l.source.send(ctx); err != nil {
			return err
		}
	}
	return nil
}

// errWaiting reports that a stream has waited for its turn for waitingInterval. It is never returned to
// callers.
var errWaiting = errors.New("the stream still waits for its turn")

// next blocks until there is something to send in a period. While that takes long, the source repeats what the client has.
//
// A source that waits for changes finds a bookmark itself, after BookmarkInterval. The deadline here is later: it passes only
// while the source waits for something else, such as a turn or a processor slot.
func (l leasedStream) next(ctx, period context.Context) error {
	for {
		// A deadline of the period that is earlier is kept, with its own cause.
		waiting, cancel := period, context.CancelFunc(func() {})
		if at, ok := l.source.markedAt(); ok {
			waiting, cancel = context.WithDeadlineCause(period, at.Add(waitingInterval), errWaiting)
		}
		// The channel is read from the lease at each call, because each renewal replaces it.
		err := l.source.next(waiting, l.lease.Changed)
		cancel()
		if !errors.Is(err, errWaiting) {
			return err
		}
		if err := l.source.repeat(ctx, false); err != nil {
			return err
		}
	}
}

// renew renews the lease if that is due, and blocks while the cluster cannot be asked. Before each further attempt the client
// receives that what it has may be stale.
func (l leasedStream) renew(ctx context.Context) error {
	return l.lease.RenewUntilValid(ctx, func() error { return l.source.repeat(ctx, true) })
}

// send calls send, which sends a message by Lease.Send, under a valid lease. check returns the reason why the message must not
// be sent under the lease as it is then; nil if it may be.
//
// check is called after each renewal, and before each attempt to send. A message is made under one lease, and may be sent under
// the next lease, which can cover less: without the check, its objects would reach a caller that has lost the permission.
func (l leasedStream) send(ctx context.Context, check, send func() error) error {
	return l.lease.SendWhenValid(ctx, func() error { return l.source.repeat(ctx, true) }, func() error {
		if err := check(); err != nil {
			return err
		}
		return send()
	})
}
