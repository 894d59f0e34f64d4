package fairqueue

import (
	"container/list"
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// ErrFull reports that the maximum number of acquisitions of a key waits already, or that an
// acquisition has waited for its maximum time.
var ErrFull = errors.New("too many wait already")

// Limits are the limits of a [Queue].
type Limits struct {
	// Name is what the queue is for. In a trace it names the waits, which have no span without it.
	Name string
	// Total is the weight that all keys together can hold at a time. At least 1.
	Total int64
	// PerKey is the part of Total that one key can hold at a time. Default: Total.
	PerKey int64
	// Waiting is the number of acquisitions of one key that can wait at a time. Default: none:
	// acquisitions that cannot be granted at once are rejected.
	Waiting int
}

// A Queue distributes a bounded capacity. Create it with [New].
type Queue struct {
	limits Limits // set once, except PerKey, which mu guards

	mu      sync.Mutex // guards the fields below
	held    int64
	little  int64             // of held, what keys have acquired that hold little with it
	keys    map[string]*share // keys that hold or wait, or have used much a while ago
	sweepAt int               // number of keys at which those are removed that have used little
	sweptAt time.Time
	waiting map[*share]struct{} // shares that wait
	waiters int                 // acquisitions that wait
	clock   uint64              // incremented for each grant, and for each waiter that becomes the first of its share
}

// share is the weight that one key holds, and its waiters. It is guarded by the queue's lock.
type share struct {
	key     string
	held    int64
	waiters list.List // of *waiter, in the order of their arrival
	used    float64   // weight times seconds that the key has held, less the longer ago; see Queue.usedLocked
	usedAt  time.Time // when used was true
	granted uint64    // the clock when the key last acquired something; 0 if it has not since it neither held nor waited
	since   uint64    // the clock when the first of waiters became the first
}

// waiter is a waiting acquisition. It is guarded by the queue's lock, except for ready.
type waiter struct {
	weight  int64                    // unchanged once granted
	places  map[string]*list.Element // its places among the waiters of each key that it waits for; none once granted
	key     string                   // for which it was granted
	release func()                   // ends it; set when granted
	ready   chan struct{}            // closed when granted
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

// Acquire blocks until key holds weight in addition. The caller must call release when it no longer
// needs the weight; further calls of release have no effect. A weight above the limit of a key
// counts as that limit, so that larger work runs alone. A negative weight counts as 0.
//
// Acquire returns ErrFull if the maximum number of acquisitions of key waits already, and the cause
// of ctx if ctx is done first.
func (q *Queue) Acquire(ctx context.Context, key string, weight int64) (release func(), err error) {
	return q.acquire(ctx, key, weight, q.limits.Waiting)
}

// AcquireWithin acquires like Acquire, and returns ErrFull after timeout.
func (q *Queue) AcquireWithin(ctx context.Context, key string, weight int64, timeout time.Duration) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrFull)
	defer cancel()
	return q.Acquire(ctx, key, weight)
}

func (q *Queue) acquire(ctx context.Context, key string, weight int64, maxWaiting int) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	q.mu.Lock()
	weight = q.weightLocked(weight)
	s := q.shareLocked(key)
	if q.fitsLocked(s, weight) {
		release = q.holdLocked(s, weight)
		q.mu.Unlock()
		return release, nil
	}
	if s.waiters.Len() >= maxWaiting {
		q.evictLocked(s)
		q.mu.Unlock()
		return nil, ErrFull
	}
	w := newWaiter(weight)
	q.enqueueLocked(s, w)
	q.mu.Unlock()
	return q.wait(ctx, w, nil)
}

// acquireFor acquires a weight of 1 for the one of several keys that gets it first, and returns that key. The
// acquisition waits in the queues of all keys, so it is not later than any of them alone would be. keys
// returns the keys, at least one, and a channel that is closed when they have changed.
func (q *Queue) acquireFor(ctx context.Context, keys func() ([]string, <-chan struct{})) (key string, release func(), err error) {
	if ctx.Err() != nil {
		return "", nil, context.Cause(ctx)
	}
	w := newWaiter(1)
	release, err = q.wait(ctx, w, func() <-chan struct{} {
		current, changed := keys()
		q.waitForKeys(w, current)
		return changed
	})
	return w.key, release, err
}

// wait waits until an acquisition is granted. It calls enter, unless that is nil, at once and whenever the
// channel that enter has returned is closed.
func (q *Queue) wait(ctx context.Context, w *waiter, enter func() <-chan struct{}) (release func(), err error) {
	if q.limits.Name != "" {
		_, span := tracing.Begin(ctx, "wait for "+q.limits.Name)
		defer span.End()
	}
	for {
		var changed <-chan struct{}
		if enter != nil {
			changed = enter()
		}
		select {
		case <-w.ready:
			return w.release, nil
		case <-changed:
		case <-ctx.Done():
			q.abandon(w)
			return nil, context.Cause(ctx)
		}
	}
}

// waitForKeys makes an acquisition wait for some keys and no others, unless it has been granted.
func (q *Queue) waitForKeys(w *waiter, keys []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.granted() {
		return
	}
	left := maps.Clone(w.places)
	for _, key := range keys {
		if w.places[key] == nil {
			q.enqueueLocked(q.shareLocked(key), w)
		}
		delete(left, key)
	}
	for key := range left {
		q.dequeueLocked(q.keys[key], w)
	}
	q.grantLocked()
}

// abandon ends an acquisition that may have been granted meanwhile.
func (q *Queue) abandon(w *waiter) {
	q.mu.Lock()
	granted := w.granted()
	if !granted {
		q.dequeueAllLocked(w)
		q.grantLocked() // other acquisitions may have waited for w
	}
	q.mu.Unlock()
	if granted {
		w.release()
	}
}

// Pass passes weight on that key has acquired, if another acquisition waits for a part of the total: it calls release, and
// blocks until key holds the weight again. It returns the function that releases the weight from then on, which does nothing after
// an error. Long work calls Pass from time to time, so that others need not wait for its end.
//
// Pass waits even if many acquisitions of key wait already, because the work has been admitted before. It returns the cause
// of ctx if ctx is done first.
func (q *Queue) Pass(ctx context.Context, key string, weight int64, release func()) (again func(), err error) {
	if !q.isAwaited() {
		return release, nil
	}
	release()
	if again, err = q.acquire(ctx, key, weight, math.MaxInt); err != nil {
		return func() {}, err
	}
	return again, nil
}

// TryAcquire acquires like Acquire, but does not wait. It reports whether weight was acquired.
func (q *Queue) TryAcquire(key string, weight int64) (release func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	weight = q.weightLocked(weight)
	s := q.shareLocked(key)
	if !q.fitsLocked(s, weight) {
		q.evictLocked(s)
		return nil, false
	}
	return q.holdLocked(s, weight), true
}

// Held returns the weight that all keys hold at the moment.
func (q *Queue) Held() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}

// Use is what the acquisitions of a queue hold at one time.
type Use struct {
	Held     int64 `json:"held"`     // weight
	Capacity int64 `json:"capacity"` // weight
	Waiting  int   `json:"waiting"`  // acquisitions
}

// Use returns what all keys hold, and how many acquisitions wait.
func (q *Queue) Use() Use {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Use{Held: q.held, Capacity: q.limits.Total, Waiting: q.waiters}
}

// Delays reports whether an acquisition waits for the weight that key holds: another one of key, or
// one of a key that has used less and waits for a part of the total.
func (q *Queue) Delays(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.keys[key]
	if s == nil || s.held == 0 {
		return false
	}
	next := q.nextLocked(false)
	return s.waiters.Len() > 0 || next != nil && q.precedes(next, s)
}

func (q *Queue) shareLocked(key string) *share {
	s := q.keys[key]
	if s == nil {
		q.sweepLocked()
		s = &share{key: key, usedAt: time.Now()}
		q.keys[key] = s
	}
	return s
}

// evictLocked removes the share of a key that neither holds nor waits, and has used little. A share that holds a weight
// of 0 may be removed too: it is recreated when the weight is returned.
func (q *Queue) evictLocked(s *share) {
	if s.held == 0 && s.waiters.Len() == 0 && q.keys[s.key] == s && q.levelLocked(s, time.Now()) == 0 {
		delete(q.keys, s.key)
	}
}

const (
	// minSweep is the number of keys up to which those are kept that have used much, and sweepInterval the time.
	minSweep      = 64
	sweepInterval = 5 * time.Minute
)

// sweepLocked removes the shares of keys that have used much, but long ago.
func (q *Queue) sweepLocked() {
	now := time.Now()
	if len(q.keys) < max(q.sweepAt, minSweep) && now.Sub(q.sweptAt) < sweepInterval {
		return
	}
	for _, s := range q.keys {
		q.evictLocked(s)
	}
	q.sweepAt, q.sweptAt = 2*len(q.keys), now
}

const (
	// forgetTime is the time after which a third of what a key has used still counts.
	forgetTime = 30 * time.Second
	// levelTime is the time for which holding the total is a level of use. Keys of one level have used the same.
	levelTime = 10 * time.Millisecond
)

// usedLocked returns what a key has used at a time: the weight that it held, times the seconds, of which those count
// less that are longer ago.
func (s *share) usedLocked(now time.Time) float64 {
	left := math.Exp(-max(0, now.Sub(s.usedAt).Seconds()) / forgetTime.Seconds())
	return s.used*left + float64(s.held)*forgetTime.Seconds()*(1-left)
}

// settleLocked records what a key has used before it holds another weight.
func (s *share) settleLocked(now time.Time) { s.used, s.usedAt = s.usedLocked(now), now }

// levelLocked returns the level of what a key has used.
func (q *Queue) levelLocked(s *share, now time.Time) int64 {
	if s.used == 0 && s.held == 0 {
		return 0
	}
	return int64(s.usedLocked(now) / (float64(q.limits.Total) * levelTime.Seconds()))
}

// precedes reports whether a share has used less than another one, or holds less now.
func (q *Queue) precedes(s, other *share) bool {
	now := time.Now()
	if level, of := q.levelLocked(s, now), q.levelLocked(other, now); level != of {
		return level < of
	}
	return s.held < other.held
}

// A key that holds little does not wait behind larger acquisitions of others, which may wait for long: there is a reserve for it.
const (
	// littleDivisor is the part of the total up to which a key holds little.
	littleDivisor = 256
	// reserveDivisor is the part of the total that is reserved for keys that hold little.
	reserveDivisor = 16
)

// reserve returns the part of the total for keys that hold little. A queue in which nothing waits has none, and neither
// has one with a small total, such as one of slots, or one in which a key can have nearly everything.
func (q *Queue) reserve() int64 {
	reserve := q.limits.Total / reserveDivisor
	if q.limits.Waiting == 0 || q.limits.Total < littleDivisor || q.limits.PerKey > q.limits.Total-reserve {
		return 0
	}
	return reserve
}

// isLittle reports whether a share holds little with a weight in addition.
func (q *Queue) isLittle(s *share, weight int64) bool {
	return s.held+weight <= q.limits.Total/littleDivisor
}

// fitsLocked reports whether s can hold weight in addition, without overtaking a share that waits
// for a part of the total.
func (q *Queue) fitsLocked(s *share, weight int64) bool {
	if s.waiters.Len() > 0 || s.held+weight > q.limits.PerKey {
		return false
	}
	if next := q.nextLocked(false); next == nil || q.precedes(s, next) {
		return q.hasRoomLocked(s, weight)
	}
	return q.nextLocked(true) == nil && q.hasReserveLocked(s, weight)
}

// hasRoomLocked reports whether the total has room for a weight that s acquires.
func (q *Queue) hasRoomLocked(s *share, weight int64) bool {
	if q.isLittle(s, weight) {
		return q.held+weight <= q.limits.Total
	}
	reserve := q.reserve()
	return q.held-min(q.little, reserve)+weight <= q.limits.Total-reserve
}

// hasReserveLocked reports whether the reserve has room for a weight that s acquires.
func (q *Queue) hasReserveLocked(s *share, weight int64) bool {
	return q.isLittle(s, weight) && q.little+weight <= q.reserve() && q.held+weight <= q.limits.Total
}

// holdLocked makes s hold weight in addition, and returns the function that ends it.
func (q *Queue) holdLocked(s *share, weight int64) (release func()) {
	little := q.isLittle(s, weight)
	s.settleLocked(time.Now())
	s.held += weight
	q.held += weight
	if little {
		q.little += weight
	}
	q.clock++
	s.granted = q.clock
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.returnLocked(s.key, weight, little)
	})
}

func (q *Queue) returnLocked(key string, weight int64, little bool) {
	s := q.shareLocked(key)
	s.settleLocked(time.Now())
	s.held -= weight
	q.held -= weight
	if little {
		q.little -= weight
	}
	q.grantLocked()
	q.evictLocked(s)
}

func newWaiter(weight int64) *waiter {
	return &waiter{weight: weight, places: make(map[string]*list.Element, 1), ready: make(chan struct{})}
}

// granted reports whether the acquisition has been granted. The queue's lock is held.
func (w *waiter) granted() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

func (q *Queue) enqueueLocked(s *share, w *waiter) {
	if len(w.places) == 0 {
		q.waiters++
	}
	if s.waiters.Len() == 0 {
		q.waiting[s] = struct{}{}
		q.stampLocked(s)
	}
	w.places[s.key] = s.waiters.PushBack(w)
}

func (q *Queue) dequeueLocked(s *share, w *waiter) {
	element := w.places[s.key]
	delete(w.places, s.key)
	if len(w.places) == 0 {
		q.waiters--
	}
	wasFirst := s.waiters.Front() == element
	s.waiters.Remove(element)
	if s.waiters.Len() == 0 {
		delete(q.waiting, s)
	} else if wasFirst {
		q.stampLocked(s)
	}
	q.evictLocked(s)
}

func (q *Queue) dequeueAllLocked(w *waiter) {
	for key := range w.places {
		q.dequeueLocked(q.keys[key], w)
	}
}

func (q *Queue) stampLocked(s *share) {
	s.since = q.clock
	q.clock++
}

// grantLocked grants the free capacity to waiters.
func (q *Queue) grantLocked() {
	for s := q.grantableLocked(); s != nil; s = q.grantableLocked() {
		w := s.first()
		w.key, w.release = s.key, q.holdLocked(s, w.weight) // first, so that the share remains
		q.dequeueAllLocked(w)
		close(w.ready)
	}
}

// grantableLocked returns the share whose first waiter can be granted; nil if there is none.
func (q *Queue) grantableLocked() *share {
	if s := q.nextLocked(false); s == nil || q.hasRoomLocked(s, s.first().weight) {
		return s
	}
	if s := q.nextLocked(true); s != nil && q.hasReserveLocked(s, s.first().weight) {
		return s
	}
	return nil
}

// isAwaited reports whether an acquisition waits for a part of the total.
func (q *Queue) isAwaited() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.nextLocked(false) != nil
}

// nextLocked returns the share whose first waiter is next, or nil if all waiting shares are at the
// limit of one key. If little is set, only shares count that hold little with that waiter.
func (q *Queue) nextLocked(little bool) *share {
	var next *share
	var nextLevel int64
	now := time.Now()
	for s := range q.waiting {
		weight := s.first().weight
		if s.held+weight > q.limits.PerKey || little && !q.isLittle(s, weight) {
			continue
		}
		if level := q.levelLocked(s, now); next == nil || level < nextLevel || level == nextLevel && s.isBefore(next) {
			next, nextLevel = s, level
		}
	}
	return next
}

func (s *share) first() *waiter { return s.waiters.Front().Value.(*waiter) }

// isBefore orders shares that have used the same.
func (s *share) isBefore(other *share) bool {
	switch {
	case s.held != other.held:
		return s.held < other.held
	case s.held == 0 && s.granted != other.granted:
		return s.granted < other.granted // what the one had was released a moment ago, perhaps
	}
	return s.since < other.since
}

// TryShare acquires like TryAcquire, for weight that is held for an unlimited time: a key gets no
// more than the capacity that it leaves free. So a single key holds at most half of the total, n
// keys with their maximum hold 1/(n+1) of it each, and some capacity is always left for another
// key.
func (q *Queue) TryShare(key string, weight int64) (release func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	weight = q.weightLocked(weight)
	s := q.shareLocked(key)
	if free := q.limits.Total - q.held - weight; s.held+weight > free || !q.fitsLocked(s, weight) {
		q.evictLocked(s)
		return nil, false
	}
	return q.holdLocked(s, weight), true
}

// SetPerKey changes the weight that one key can hold at a time; less than 1 is Limits.Total. Keys that
// hold more keep it, and acquire nothing until they hold less.
func (q *Queue) SetPerKey(limit int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if limit < 1 || limit > q.limits.Total {
		limit = q.limits.Total
	}
	q.limits.PerKey = limit
	for s := range q.waiting {
		for element := s.waiters.Front(); element != nil; element = element.Next() {
			w := element.Value.(*waiter)
			w.weight = min(w.weight, limit) // a larger one would wait forever
		}
	}
	q.grantLocked()
}

// weightLocked returns the weight that an acquisition counts as.
func (q *Queue) weightLocked(weight int64) int64 { return min(max(weight, 0), q.limits.PerKey) }
