package informerhub

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

const (
	// requestTimeout bounds one request to the API server.
	requestTimeout = 10 * time.Second
	// Callers beyond this rate wait, and share the next request.
	requestsPerSecond = 2
	requestBurst      = 10
)

// coalescer shares one request to the API server among all concurrent callers: at most one is in
// flight, and at most requestsPerSecond are sent in a second. Its methods are safe for concurrent
// use.
type coalescer[A any] struct {
	name    string            // name of the requested thing, in errors
	request func() (A, error) // takes at most requestTimeout
	limiter flowcontrol.RateLimiter
	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   bool
	latest   *flight[A] // the last successful request; nil before the first one
	inFlight *flight[A] // nil while no request is in flight
}

// flight is one request, shared by all callers that wait for it.
type flight[A any] struct {
	done      chan struct{}
	requested time.Time // when the request was sent
	answer    A
	err       error
}

func newCoalescer[A any](what string, ask func() (A, error)) *coalescer[A] {
	return &coalescer[A]{
		name: what, request: ask,
		limiter: flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestBurst),
	}
}

// close prevents further requests, and waits for the one in flight.
func (t *coalescer[A]) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}

// lastAnswer returns the last answer; the zero value if there is none yet.
func (t *coalescer[A]) lastAnswer() (answer A) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest != nil {
		answer = t.latest.answer
	}
	return answer
}

// recent returns an answer that was requested within the given age, and sends a request if there is
// none.
func (t *coalescer[A]) recent(ctx context.Context, age time.Duration) (answer A, err error) {
	if latest := t.latestWithin(age); latest != nil {
		return latest.answer, nil
	}
	previous := t.currentFlight()
	if err := t.wait(ctx, previous); err != nil {
		return answer, err
	}
	if latest := t.latestWithin(age); latest != nil {
		return latest.answer, nil
	}
	next := t.joinFlight(previous)
	if err := t.wait(ctx, next); err != nil {
		return answer, err
	}
	return next.answer, next.err
}

// refresh sends a request that begins after the call, because a request in flight may have missed a
// change that the caller has just made.
func (t *coalescer[A]) refresh(ctx context.Context) (A, error) { return t.recent(ctx, 0) }

// latestWithin returns the last successful request; nil if it is older than age.
func (t *coalescer[A]) latestWithin(age time.Duration) *flight[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == nil || time.Since(t.latest.requested) >= age {
		return nil
	}
	return t.latest
}

// currentFlight returns the request in flight; nil if there is none.
func (t *coalescer[A]) currentFlight() *flight[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inFlight
}

// wait blocks until a request has ended, with or without success.
func (t *coalescer[A]) wait(ctx context.Context, flight *flight[A]) error {
	if flight == nil {
		return nil
	}
	select {
	case <-flight.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the API server's %s: %w", t.name, context.Cause(ctx))
	}
}

// joinFlight returns the request after previous, and starts it if necessary.
func (t *coalescer[A]) joinFlight(previous *flight[A]) *flight[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return closedFlight[A]()
	}
	if t.inFlight == nil || t.inFlight == previous {
		t.inFlight = &flight[A]{done: make(chan struct{})}
		t.running.Add(1)
		go t.run(t.inFlight)
	}
	return t.inFlight
}

// closedFlight returns a request that fails with ErrClosed.
func closedFlight[A any]() *flight[A] {
	closed := &flight[A]{done: make(chan struct{}), err: ErrClosed}
	close(closed.done)
	return closed
}

// run sends the request. It ends by itself, within requestTimeout of being sent, and close waits
// for it.
func (t *coalescer[A]) run(flight *flight[A]) {
	defer t.running.Done()
	t.limiter.Accept()
	flight.requested = time.Now()
	flight.answer, flight.err = t.request()
	t.mu.Lock()
	defer t.mu.Unlock()
	if flight.err == nil {
		t.latest = flight
	}
	t.inFlight = nil
	close(flight.done)
}
