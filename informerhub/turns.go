package informerhub

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

const (
	// questionTimeout bounds one request to the API server.
	questionTimeout = 10 * time.Second
	// Callers beyond this rate wait, and share the next request.
	turnsPerSecond = 2
	turnBurst      = 10
)

// turns shares one request to the API server among all concurrent callers: at most one is in
// flight, and at most turnsPerSecond are sent in a second. Its methods are safe for concurrent use.
type turns[A any] struct {
	what    string            // name of the requested thing, in errors
	ask     func() (A, error) // takes at most questionTimeout
	pace    flowcontrol.RateLimiter
	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   bool
	latest   *turn[A] // the last successful request; nil before the first one
	underway *turn[A] // nil while no request is in flight
}

// turn is one request, shared by all callers that wait for it.
type turn[A any] struct {
	done   chan struct{}
	asked  time.Time // when the request was sent
	answer A
	err    error
}

func newTurns[A any](what string, ask func() (A, error)) *turns[A] {
	return &turns[A]{what: what, ask: ask, pace: flowcontrol.NewTokenBucketRateLimiter(turnsPerSecond, turnBurst)}
}

// close prevents further requests, and waits for the one in flight.
func (t *turns[A]) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}

// known returns the last answer; the zero value if there is none yet.
func (t *turns[A]) known() (answer A) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest != nil {
		answer = t.latest.answer
	}
	return answer
}

// recent returns an answer that was requested within the given age, and sends a request if there is
// none.
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

// refresh sends a request that begins after the call, because a request in flight may have missed a
// change that the caller has just made.
func (t *turns[A]) refresh(ctx context.Context) (A, error) { return t.recent(ctx, 0) }

// within returns the last successful request; nil if it is older than age.
func (t *turns[A]) within(age time.Duration) *turn[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == nil || time.Since(t.latest.asked) >= age {
		return nil
	}
	return t.latest
}

// current returns the request in flight; nil if there is none.
func (t *turns[A]) current() *turn[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.underway
}

// over blocks until a request has ended, with or without success.
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

// join returns the request after previous, and starts it if necessary.
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

// closedTurn returns a turn that fails with ErrClosed.
func closedTurn[A any]() *turn[A] {
	over := &turn[A]{done: make(chan struct{}), err: ErrClosed}
	close(over.done)
	return over
}

// take sends the request. It ends by itself, within questionTimeout of being sent, and close waits
// for it.
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
