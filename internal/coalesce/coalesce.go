// Package coalesce shares requests among concurrent callers, so that the load of the requested server
// does not depend on the number of callers.
package coalesce

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

const (
	// PerSecond is the rate of requests. Callers beyond it wait, and share the next request.
	PerSecond = 2
	// Burst is the number of requests that may be sent at once after a pause.
	Burst = 10
)

// Requests shares one request to the API server among all concurrent callers: at most one is in
// flight, and at most PerSecond are sent in a second. Its methods are safe for concurrent use.
type Requests[A any] struct {
	// Limiter limits the rate of requests. It may be replaced before the first call.
	Limiter flowcontrol.RateLimiter

	name    string            // name of the requested thing, in errors
	waits   string            // the name of the waits for a request, in traces
	send    func() (A, error) // has a timeout
	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   error      // of requests after CloseWithError; nil before
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

// New returns the requests that send sends. The name says what is requested, in errors of callers
// that have stopped waiting. send must have a timeout.
func New[A any](name string, send func() (A, error)) *Requests[A] {
	return &Requests[A]{
		Limiter: flowcontrol.NewTokenBucketRateLimiter(PerSecond, Burst), name: name, waits: "wait for the " + name, send: send,
	}
}

// CloseWithError makes further requests fail with an error, and waits for the one in flight.
func (r *Requests[A]) CloseWithError(err error) {
	r.mu.Lock()
	r.closed = err
	r.mu.Unlock()
	r.running.Wait()
}

// Last returns the last answer; the zero value if there is none yet.
func (r *Requests[A]) Last() (answer A) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest != nil {
		answer = r.latest.answer
	}
	return answer
}

// LastWithin returns the last answer, and whether it was requested within the given age.
func (r *Requests[A]) LastWithin(age time.Duration) (answer A, ok bool) {
	if latest := r.latestWithin(age); latest != nil {
		return latest.answer, true
	}
	return answer, false
}

// Recent returns an answer that was requested within the given age, and sends a request if there is
// none.
func (r *Requests[A]) Recent(ctx context.Context, age time.Duration) (answer A, err error) {
	if latest := r.latestWithin(age); latest != nil {
		return latest.answer, nil
	}
	previous := r.currentFlight()
	if err := r.wait(ctx, previous); err != nil {
		return answer, err
	}
	if latest := r.latestWithin(age); latest != nil {
		return latest.answer, nil
	}
	next := r.joinFlight(previous)
	if err := r.wait(ctx, next); err != nil {
		return answer, err
	}
	return next.answer, next.err
}

// Fresh sends a request that begins after the call, because a request in flight may have missed a
// change that the caller has just made.
func (r *Requests[A]) Fresh(ctx context.Context) (A, error) { return r.Recent(ctx, 0) }

// latestWithin returns the last successful request; nil if it is older than age.
func (r *Requests[A]) latestWithin(age time.Duration) *flight[A] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil || time.Since(r.latest.requested) >= age {
		return nil
	}
	return r.latest
}

// currentFlight returns the request in flight; nil if there is none.
func (r *Requests[A]) currentFlight() *flight[A] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inFlight
}

// wait blocks until a request has ended, with or without success. It fails if the call has ended by then.
func (r *Requests[A]) wait(ctx context.Context, flight *flight[A]) error {
	if flight == nil {
		return nil
	}
	ctx, span := tracing.Begin(ctx, r.waits)
	defer span.End()
	select {
	case <-flight.done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for the API server's %s: %w", r.name, context.Cause(ctx))
	}
	return nil
}

// joinFlight returns the request after previous, and starts it if necessary.
func (r *Requests[A]) joinFlight(previous *flight[A]) *flight[A] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed != nil {
		return failedFlight[A](r.closed)
	}
	if r.inFlight == nil || r.inFlight == previous {
		r.inFlight = &flight[A]{done: make(chan struct{})}
		r.running.Add(1)
		go r.run(r.inFlight)
	}
	return r.inFlight
}

// failedFlight returns a request that has failed with an error.
func failedFlight[A any](err error) *flight[A] {
	failed := &flight[A]{done: make(chan struct{}), err: err}
	close(failed.done)
	return failed
}

// run sends the request. CloseWithError waits for it.
func (r *Requests[A]) run(flight *flight[A]) {
	defer r.running.Done()
	r.Limiter.Accept()
	flight.requested = time.Now()
	flight.answer, flight.err = r.send()
	r.mu.Lock()
	defer r.mu.Unlock()
	if flight.err == nil {
		r.latest = flight
	}
	r.inFlight = nil
	close(flight.done)
}
