package fairqueue

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull says that as much waits for a key as may, or that it has waited for as long as it may.
var ErrFull = errors.New("too many wait already")

// Limits of a [Queue].
type Limits struct {
	// Total is how much may be held at a time by all keys. At least 1.
	Total int64
	// PerKey is how much of Total one key may hold at a time. Default: Total.
	PerKey int64
	// Waiting is how many acquisitions of one key may wait at a time. Default: none; what
	// cannot be held at once is refused.
	Waiting int
}

// A Queue gives out a bounded capacity. It is made by [New].
type Queue struct {
	limits Limits // set once

	mu      sync.Mutex // guards the fields below
	held    int64
	keys    map[string]*share   // those that hold or wait
	waiting map[*share]struct{} // those that wait
	clock   uint64              // goes up by one for each waiter that becomes the first of its share
}

// share is what one key holds, and what waits for it. The queue's lock guards it.
type share struct {
	held    int64
	waiters list.List // of *waiter, in the order of their arrival
	since   uint64    // the clock when the first of waiters became the first
}

// waiter is an acquisition that waits. The queue's lock guards it, but for ready.
type waiter struct {
	weight  int64
	granted bool
	ready   chan struct{} // closed when granted
}

// New returns a queue with the given limits.
func New(limits Limits) *Queue {
	if limits.Total < 1 {
		panic("fairqueue: a queue without capacity")
	}
	if limits.PerKey < 1 || limits.PerKey > limits.Total {
		limits.PerKey = limits.Total
	}
	return &Queue{limits: limits, keys: map[string]*share{}, waiting: map[*share]struct{}{}}
}

// Acquire blocks until key holds weight more. The caller must call release once it does not need
// that any longer; further calls of release do nothing. A weight above the limit of a key counts
// as that limit, so that what is larger than a share is carried out alone. A negative
// weight counts as 0.
//
// Acquire returns ErrFull if as many acquisitions of key wait as may, and the cause of ctx if ctx
// ends first.
func (q *Queue) Acquire(ctx context.Context, key string, weight int64) (release func(), err error) {
	return q.acquire(ctx, key, weight, q.limits.Waiting)
}

// AcquireWithin is Acquire that waits for a time at most, and returns ErrFull when that is over.
func (q *Queue) AcquireWithin(ctx context.Context, key string, weight int64, patience time.Duration) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrFull)
	defer cancel()
	return q.Acquire(ctx, key, weight)
}

func (q *Queue) acquire(ctx context.Context, key string, weight int64, mayWait int) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	weight = min(max(weight, 0), q.limits.PerKey)
	q.mu.Lock()
	s := q.shareLocked(key)
	if q.fitsLocked(s, weight) {
		q.holdLocked(s, weight)
		q.mu.Unlock()
		return q.releaser(key, weight), nil
	}
	if s.waiters.Len() >= mayWait {
		q.forgetLocked(key, s)
		q.mu.Unlock()
		return nil, ErrFull
	}
	w := &waiter{weight: weight, ready: make(chan struct{})}
	place := q.enqueueLocked(s, w)
	q.mu.Unlock()
	select {
	case <-w.ready:
		return q.releaser(key, weight), nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.granted {
		q.returnLocked(key, weight)
	} else {
		q.dequeueLocked(s, place)
		q.grantLocked() // the others may have waited for w
		q.forgetLocked(key, s)
	}
	return nil, context.Cause(ctx)
}

// TryAcquire is Acquire without waiting. It reports whether key holds weight more now.
func (q *Queue) TryAcquire(key string, weight int64) (release func(), ok bool) {
	weight = min(max(weight, 0), q.limits.PerKey)
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.shareLocked(key)
	if !q.fitsLocked(s, weight) {
		q.forgetLocked(key, s)
		return nil, false
	}
	q.holdLocked(s, weight)
	return q.releaser(key, weight), true
}

// Held returns how much is held at the moment by all keys.
func (q *Queue) Held() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}

// Delays reports whether an acquisition waits for what key holds: another one of key, or one of a
// key that holds less and waits for a part of the total.
func (q *Queue) Delays(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.keys[key]
	if s == nil || s.held == 0 {
		return false
	}
	next := q.nextLocked()
	return s.waiters.Len() > 0 || next != nil && next.held < s.held
}

func (q *Queue) releaser(key string, weight int64) func() {
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.returnLocked(key, weight)
	})
}

func (q *Queue) shareLocked(key string) *share {
	s := q.keys[key]
	if s == nil {
		s = &share{}
		q.keys[key] = s
	}
	return s
}

// forgetLocked removes the share of a key that neither holds nor waits. One that holds
// a weight of 0 may be forgotten: it is made again when that is returned.
func (q *Queue) forgetLocked(key string, s *share) {
	if s.held == 0 && s.waiters.Len() == 0 {
		delete(q.keys, key)
	}
}

// fitsLocked reports whether s can hold weight more at once, ahead of no other that waits for a
// part of the total.
func (q *Queue) fitsLocked(s *share, weight int64) bool {
	return s.waiters.Len() == 0 && s.held+weight <= q.limits.PerKey &&
		q.held+weight <= q.limits.Total && q.nextLocked() == nil
}

func (q *Queue) holdLocked(s *share, weight int64) {
	s.held += weight
	q.held += weight
}

func (q *Queue) returnLocked(key string, weight int64) {
	s := q.shareLocked(key)
	q.holdLocked(s, -weight)
	q.grantLocked()
	q.forgetLocked(key, s)
}

func (q *Queue) enqueueLocked(s *share, w *waiter) *list.Element {
	if s.waiters.Len() == 0 {
		q.waiting[s] = struct{}{}
		q.stampLocked(s)
	}
	return s.waiters.PushBack(w)
}

func (q *Queue) dequeueLocked(s *share, place *list.Element) {
	wasFirst := s.waiters.Front() == place
	s.waiters.Remove(place)
	if s.waiters.Len() == 0 {
		delete(q.waiting, s)
	} else if wasFirst {
		q.stampLocked(s)
	}
}

func (q *Queue) stampLocked(s *share) {
	s.since = q.clock
	q.clock++
}

// grantLocked gives what is free to those that wait.
func (q *Queue) grantLocked() {
	for s := q.nextLocked(); s != nil; s = q.nextLocked() {
		w := s.first()
		if q.held+w.weight > q.limits.Total {
			return
		}
		q.dequeueLocked(s, s.waiters.Front())
		q.holdLocked(s, w.weight)
		w.granted = true
		close(w.ready)
	}
}

// isAwaited reports whether an acquisition waits for a part of the total.
func (q *Queue) isAwaited() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.nextLocked() != nil
}

// nextLocked returns the share whose first waiter is next, or nil if all that wait hold as much as
// one key may.
func (q *Queue) nextLocked() *share {
	var next *share
	for s := range q.waiting {
		if s.held+s.first().weight <= q.limits.PerKey && (next == nil || s.isBefore(next)) {
			next = s
		}
	}
	return next
}

func (s *share) first() *waiter { return s.waiters.Front().Value.(*waiter) }

func (s *share) isBefore(other *share) bool {
	if s.held != other.held {
		return s.held < other.held
	}
	return s.since < other.since
}
