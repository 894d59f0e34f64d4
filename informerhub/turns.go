package informerhub

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

const (
	// questionTimeout bounds one question to the API server.
	questionTimeout = 10 * time.Second
	// Those who ask beyond this pace wait for their turn, and share it.
	turnsPerSecond = 2
	turnBurst      = 10
)

// turns puts one question to the API server for all who want to know the answer: by at
// most one request at any time, whatever their number, and so many a second. Its methods
// are safe for concurrent use.
type turns[A any] struct {
	what    string            // is asked for, in errors
	ask     func() (A, error) // takes questionTimeout at most
	pace    flowcontrol.RateLimiter
	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   bool
	latest   *turn[A] // the last one that has brought an answer; nil before
	underway *turn[A] // nil while nothing is asked
}

// turn is one time of asking, shared by all who wait for it.
type turn[A any] struct {
	done   chan struct{}
	asked  time.Time // when the question was put
	answer A
	err    error
}

func newTurns[A any](what string, ask func() (A, error)) *turns[A] {
	return &turns[A]{what: what, ask: ask, pace: flowcontrol.NewTokenBucketRateLimiter(turnsPerSecond, turnBurst)}
}

// close lets no more turns begin, and waits for the one under way.
func (t *turns[A]) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}

// known is the last answer; the zero value before there is one.
func (t *turns[A]) known() (answer A) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest != nil {
		answer = t.latest.answer
	}
	return answer
}

// recent answers what was asked within some time, and asks again if nothing was.
func (t *turns[A]) recent(ctx context.Context, age time.Duration) (answer A, err error) {
	if latest := t.within(age); latest != nil {
		return latest.answer, nil
	}
	previous := t.current()
	if err := t.over(ctx, previous); err != nil {
		return answer, err
	}
	if latest := t.within(age); latest != nil {
		return latest.answer, nil
	}
	next := t.join(previous)
	if err := t.over(ctx, next); err != nil {
		return answer, err
	}
	return next.answer, next.err
}

// refresh asks by a request that begins after this call does: one that is under way
// already may have missed what the caller has just made.
func (t *turns[A]) refresh(ctx context.Context) (A, error) { return t.recent(ctx, 0) }

// within is the last turn that has brought an answer, unless it is older; then nil.
func (t *turns[A]) within(age time.Duration) *turn[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == nil || time.Since(t.latest.asked) >= age {
		return nil
	}
	return t.latest
}

// current is the turn under way; nil if there is none.
func (t *turns[A]) current() *turn[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.underway
}

// over waits until a turn is over, whatever has come of it.
func (t *turns[A]) over(ctx context.Context, turn *turn[A]) error {
	if turn == nil {
		return nil
	}
	select {
	case <-turn.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the API server's %s: %w", t.what, context.Cause(ctx))
	}
}

// join answers the turn that follows the one given, and starts it if nobody has.
func (t *turns[A]) join(previous *turn[A]) *turn[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return closedTurn[A]()
	}
	if t.underway == nil || t.underway == previous {
		t.underway = &turn[A]{done: make(chan struct{})}
		t.running.Add(1)
		go t.take(t.underway)
	}
	return t.underway
}

// closedTurn is every turn after close.
func closedTurn[A any]() *turn[A] {
	over := &turn[A]{done: make(chan struct{}), err: ErrClosed}
	close(over.done)
	return over
}

// take asks. It ends by itself, within questionTimeout of its turn, and close waits for it.
func (t *turns[A]) take(turn *turn[A]) {
	defer t.running.Done()
	t.pace.Accept()
	turn.asked = time.Now()
	turn.answer, turn.err = t.ask()
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn.err == nil {
		t.latest = turn
	}
	t.underway = nil
	close(turn.done)
}
