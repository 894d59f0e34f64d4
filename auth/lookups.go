package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// lookupTimeout bounds the time that the cluster has for a decision.
const lookupTimeout = 10 * time.Second

// lookups runs reviews. Concurrent callers with the same question share one review. A review
// belongs to none of them, so a caller that leaves does not affect the others; it is canceled if
// all callers have left before it got a slot. Its methods are safe for concurrent use.
type lookups[A any] struct {
	name    string        // of a review in traces; set once, with those below
	slots   fairSlots     // for reviews without a slot of their own
	breaker *breaker      // of all reviews
	stop    chan struct{} // closed to cancel the reviews in progress

	counts counts

	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below, and the incrementing of running before ended
	flights map[string]*flight[A]
	ended   bool
}

// flight is one review, shared by all callers with the same question.
type flight[A any] struct {
	key     string // set once, with slot and patient
	slot    slot
	patient bool          // it waits while the breaker blocks it, because its callers are open streams
	done    chan struct{} // closed when answer and err are set

	answer A
	err    error

	waiting int                // callers that wait for the result; guarded by the lookups' mu, with the fields below
	started bool               // it has got its slot
	cancel  context.CancelFunc // ends the wait for the slot
}

func newLookups[A any](name string) *lookups[A] {
	return &lookups[A]{
		name: name, slots: newFairSlots(), breaker: newBreaker(name), stop: make(chan struct{}), flights: map[string]*flight[A]{},
	}
}

// ask waits for a slot of the caller, and returns the result of do, or of another caller's do for
// the same key. It returns early if the caller's own context is done. do has a context of its own,
// without the caller's values. Questions about open streams are not shared with others, because
// they have slots of their own.
func (l *lookups[A]) ask(ctx context.Context, key string, caller Key, do func(context.Context) (A, error)) (A, error) {
	if isRecheck(ctx) {
		key = "again " + key
	}
	return l.join(ctx, key, l.slots.slotFor(ctx, caller), do)
}

// join is ask with a given slot.
func (l *lookups[A]) join(
	ctx context.Context, key string, slot slot, do func(context.Context) (A, error),
) (none A, err error) {
	ctx, span := tracing.Begin(ctx, l.name)
	defer func() { tracing.End(span, err) }()
	if !isRecheck(ctx) {
		if err := l.breaker.refuse(slot.caller()); err != nil {
			return none, err
		}
	}
	f := l.joinFlight(ctx, key, slot, do)
	if f == nil {
		return none, errShutDown
	}
	select {
	case <-f.done:
		return f.answer, f.err
	case <-ctx.Done():
		l.leave(f)
		return none, context.Cause(ctx)
	}
}

// joinFlight returns the flight of a key, and starts it if there is none. It returns nil after the
// shutdown.
func (l *lookups[A]) joinFlight(ctx context.Context, key string, slot slot, do func(context.Context) (A, error)) *flight[A] {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flights[key]
	switch {
	case l.ended:
		return nil
	case f == nil:
		f = l.beginLocked(ctx, key, slot, do)
	}
	f.waiting++
	return f
}

// beginLocked starts a flight. In a trace its requests are those of the first caller that waits for it.
func (l *lookups[A]) beginLocked(first context.Context, key string, slot slot, do func(context.Context) (A, error)) *flight[A] {
	ctx, cancel := context.WithCancel(tracing.Continue(first, wait.ContextForChannel(l.stop)))
	f := &flight[A]{key: key, slot: slot, patient: isRecheck(first), done: make(chan struct{}), cancel: cancel}
	l.flights[key] = f
	l.running.Go(func() {
		defer cancel()
		f.answer, f.err = l.lookUp(ctx, f, do)
		l.finish(f)
	})
	return f
}

// leave removes a caller that no longer waits for the result.
func (l *lookups[A]) leave(f *flight[A]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.waiting--
	if f.waiting == 0 && !f.started && !f.slot.keepsWaiting() {
		l.removeLocked(f)
		f.cancel()
	}
}

// start reports whether a flight that has got its slot is still wanted, and marks it as in
// progress.
func (l *lookups[A]) start(f *flight[A]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.started = l.flights[f.key] == f
	return f.started
}

func (l *lookups[A]) finish(f *flight[A]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(f)
	close(f.done)
}

func (l *lookups[A]) removeLocked(f *flight[A]) {
	if l.flights[f.key] == f {
		delete(l.flights, f.key)
	}
}

// lookUp waits for the slot and for the breaker in ctx, and then runs do with a timeout of its own.
func (l *lookups[A]) lookUp(
	ctx context.Context, f *flight[A], do func(context.Context) (A, error),
) (answer A, err error) {
	p, err := l.admit(ctx, f)
	if err == nil {
		defer f.slot.end()
		defer func() { l.breaker.done(p, err, f.slot.caller()) }()
		if !l.start(f) {
			return answer, context.Canceled // no caller receives it
		}
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		began := time.Now()
		answer, err = do(ctx)
		l.counts.took.Add(int64(time.Since(began)))
		l.logFailure(err)
	}
	l.counts.count(err)
	return answer, err
}

// admit waits for the flight's slot and for the breaker. A flight that the breaker blocks has no slot meanwhile:
// those of a blocked caller do not delay other callers.
func (l *lookups[A]) admit(ctx context.Context, f *flight[A]) (probe, error) {
	for {
		if f.patient {
			if err := l.breaker.await(ctx, f.slot.caller()); err != nil {
				return nil, err
			}
		}
		if err := l.counts.wait(ctx, f.slot); err != nil {
			return nil, err
		}
		p, err := l.breaker.pass(ctx, f.slot.caller(), f.patient)
		if err == nil {
			return p, nil
		}
		f.slot.end()
		var blocked *blockedError
		if !f.patient || !errors.As(err, &blocked) {
			return nil, err
		}
	}
}

// logFailure logs a review's error.
func (l *lookups[A]) logFailure(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !l.ended {
		slog.Warn("the cluster could not be asked about a caller", "error", err)
	}
}

// end cancels the reviews in progress and waits for them. Later ones fail.
func (l *lookups[A]) end() {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.stop)
	}
	l.mu.Unlock()
	l.running.Wait()
}
