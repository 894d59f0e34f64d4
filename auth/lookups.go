package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
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

func (l *lookups[A]) stats() ReviewStats { return l.breaker.addTo(l.counts.stats()) }

const (
	// maxLookups bounds the concurrent reviews of one kind, in addition to those of unknown tokens
	// and those of open streams. Further ones wait.
	maxLookups = 64
	// maxLookupsOfCaller bounds the concurrent reviews of one caller, so that others get a slot.
	maxLookupsOfCaller = 16
	// maxQuestionsWaiting bounds the waiting reviews of one caller. Each is a goroutine.
	maxQuestionsWaiting = 1024
	// maxRechecksWaiting bounds the waiting reviews of one caller's open streams.
	maxRechecksWaiting = 4096
	// slotTimeout is how long a review waits for a slot; it has a separate time for its decision.
	// Reviews of open streams wait for as long as the stream does.
	slotTimeout = 5 * time.Second
)

// slot is the permission to run one review.
type slot interface {
	// wait blocks until the review has a slot. It returns errNoSlot if the queue is full or the
	// wait took too long.
	wait(ctx context.Context) error
	// end releases the slot.
	end()
	// caller identifies the caller that is reviewed; empty if it is not known.
	caller() string
	// keepsWaiting reports whether the review continues to wait when no caller waits for its
	// result.
	keepsWaiting() bool
}

// fairSlots shares the slots for reviews fairly among callers. Reviews of open streams have slots
// of their own: they do not wait behind new questions.
type fairSlots struct{ questions, rechecks *fairqueue.Queue }

func newFairSlots() fairSlots {
	return fairSlots{
		questions: newFairQueue(maxQuestionsWaiting),
		rechecks:  newFairQueue(maxRechecksWaiting),
	}
}

// newFairQueue returns a queue of one kind of reviews.
func newFairQueue(waiting int) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "other reviews", Total: maxLookups, PerKey: maxLookupsOfCaller, Waiting: waiting})
}

// slotFor returns the slot of one caller's review.
func (s fairSlots) slotFor(ctx context.Context, caller Key) slot {
	if isRecheck(ctx) {
		return &fairSlot{queue: s.rechecks, key: string(caller[:])}
	}
	return &fairSlot{queue: s.questions, key: string(caller[:]), timeout: slotTimeout}
}

// fairSlot is a slot in a fair queue.
type fairSlot struct {
	queue   *fairqueue.Queue
	key     string        // identifies the caller
	timeout time.Duration // 0: unlimited
	release func()        // set by wait
}

// wait implements slot.
func (s *fairSlot) wait(ctx context.Context) (err error) {
	if s.timeout > 0 {
		s.release, err = s.queue.AcquireWithin(ctx, s.key, 1, s.timeout)
	} else {
		s.release, err = s.queue.Acquire(ctx, s.key, 1)
	}
	if errors.Is(err, fairqueue.ErrFull) {
		return errNoSlot
	}
	return err
}

// end implements slot.
func (s *fairSlot) end() { s.release() }

// keepsWaiting implements slot.
func (*fairSlot) keepsWaiting() bool { return false }

// caller implements slot.
func (s *fairSlot) caller() string { return s.key }

type recheckKey struct{}

// WithRecheck returns a context for reviews of an open stream: the current identity and permissions
// of its caller. Such reviews do not wait behind those of new calls, and wait for as long as ctx is
// not done.
func WithRecheck(ctx context.Context) context.Context {
	return context.WithValue(ctx, recheckKey{}, true)
}

func isRecheck(ctx context.Context) bool { return ctx.Value(recheckKey{}) != nil }

const (
	// maxUnknownLookups bounds the concurrent reviews of unknown tokens. They are separate from those of
	// known tokens, which no flood of invalid tokens can delay.
	maxUnknownLookups = 32
	// maxLookupsOfPeer bounds the concurrent reviews of one peer, so that others get a slot.
	maxLookupsOfPeer = 16
	// maxWaiting bounds the reviews that have or wait for a slot, and maxWaitingOfPeer those of one
	// peer, which never has more than it leaves free. They are large because all agents behind one
	// address may call for the first time at once. They bound the memory: each review is a
	// goroutine and a token.
	maxWaiting       = 2048
	maxWaitingOfPeer = 1024
	// unknownTokenTimeout is how long an unknown token waits for a slot: enough for all waiting
	// reviews of a peer.
	unknownTokenTimeout = 12 * time.Second
	// rejectionPenalty is how long a peer's slot stays occupied after its token was rejected. Therefore
	// a flood from one peer costs the API server at most maxLookupsOfPeer reviews in that time.
	rejectionPenalty = 100 * time.Millisecond
)

// lookupQueue queues the reviews of unknown tokens, fairly by the peers that sent them. Its methods
// are safe for concurrent use.
type lookupQueue struct {
	slots semaphore

	mu      sync.Mutex                  // guards the fields below
	waiting int                         // reviews that have or wait for a slot
	peers   map[netip.Prefix]*peerQueue // the peers of these reviews
}

// semaphore is a semaphore with the capacity of the channel.
type semaphore chan struct{}

func (s semaphore) wait(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s semaphore) end() { <-s }

// peerQueue contains the reviews of one peer.
type peerQueue struct {
	slots   semaphore
	waiting int // guarded by the mutex of lookupQueue
}

func newLookupQueue() *lookupQueue {
	return &lookupQueue{slots: make(semaphore, maxUnknownLookups), peers: map[netip.Prefix]*peerQueue{}}
}

// queuedLookup is the slot of one review.
type queuedLookup struct {
	parent   *lookupQueue
	peer     netip.Prefix
	queue    *peerQueue // set by wait
	accepted bool       // whether the token was accepted; set before end
}

func (q *lookupQueue) slotFor(peer netip.Prefix) *queuedLookup {
	return &queuedLookup{parent: q, peer: peer}
}

// wait implements slot: it waits for a slot of the peer, and then for one of all.
func (l *queuedLookup) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, unknownTokenTimeout, errNoSlotForUnknownToken)
	defer cancel()
	if l.queue = l.parent.enter(l.peer); l.queue == nil {
		return errNoSlotForUnknownToken
	}
	if err := l.queue.slots.wait(ctx); err != nil {
		l.parent.leave(l.peer)
		return err
	}
	err := l.parent.slots.wait(ctx)
	if err != nil {
		l.leave()
	}
	return err
}

// end implements slot.
func (l *queuedLookup) end() {
	l.parent.slots.end()
	if l.accepted {
		l.leave()
		return
	}
	time.AfterFunc(rejectionPenalty, l.leave)
}

// keepsWaiting implements slot. A review keeps its place after its client has disconnected:
// reconnecting gains nothing.
func (*queuedLookup) keepsWaiting() bool { return true }

// caller implements slot. A client whose token nobody knows may choose one for which the API server asks
// a webhook that does not respond. It blocks no review of others by that: the slots bound the rate of such
// reviews.
func (*queuedLookup) caller() string { return "" }

func (l *queuedLookup) leave() {
	l.queue.slots.end()
	l.parent.leave(l.peer)
}

// enter adds a review to a peer's queue and returns the queue; nil if it is full.
func (q *lookupQueue) enter(peer netip.Prefix) *peerQueue {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue, free := q.peers[peer], maxWaiting-q.waiting
	if free == 0 || queue != nil && queue.waiting >= min(maxWaitingOfPeer, free) {
		return nil
	}
	if queue == nil {
		queue = &peerQueue{slots: make(semaphore, maxLookupsOfPeer)}
		q.peers[peer] = queue
	}
	q.waiting++
	queue.waiting++
	return queue
}

func (q *lookupQueue) leave(peer netip.Prefix) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	queue := q.peers[peer]
	if queue.waiting--; queue.waiting == 0 {
		delete(q.peers, peer)
	}
}

// ReviewStats counts the reviews of one kind since the start of the service.
type ReviewStats struct {
	// Requested is the number of reviews that were requested from the API server.
	Requested uint64 `json:"requested"`
	// Failed is the number of reviews without a decision: the API server returned an error, or was
	// not reachable in time.
	Failed uint64 `json:"failed"`
	// Rejected is the number of reviews that were rejected because the queue of their caller, of
	// their peer or of all was full.
	Rejected uint64 `json:"rejected"`
	// CacheHits is the number of decisions that were served from the cache.
	CacheHits uint64 `json:"cacheHits"`
	// Waiting is the number of reviews that wait for a slot now.
	Waiting int64 `json:"waiting"`
	// Waited is the time that all reviews have waited for their slot.
	Waited time.Duration `json:"waitedNanoseconds"`
	// FailingSince is the time since which the API server has given no decision; zero unless five
	// reviews in a row have failed, or all for ten seconds, and the last one within a minute. Problem
	// is then the reason.
	FailingSince time.Time `json:"failingSince,omitzero"`
	Problem      string    `json:"problem,omitempty"`
	// Unreachable reports that the reason is the connection: the API server has not got the last failed
	// review, or its connection was lost. Otherwise the API server gives no decision although it can be
	// reached.
	Unreachable bool `json:"unreachable,omitempty"`
	// DecidedAt is the time of the last decision of the API server; zero if there was none.
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	// Took is the time that all reviews have taken at the API server.
	Took time.Duration `json:"tookNanoseconds"`
}

// counts counts Reviews. Its methods are safe for concurrent use.
type counts struct {
	requested, failed, rejected, cacheHits atomic.Uint64
	waiting                                atomic.Int64
	waited, took                           atomic.Int64 // nanoseconds
}

func (c *counts) stats() ReviewStats {
	return ReviewStats{
		Requested: c.requested.Load(),
		Failed:    c.failed.Load(),
		Rejected:  c.rejected.Load(),
		CacheHits: c.cacheHits.Load(),
		Waiting:   c.waiting.Load(),
		Waited:    time.Duration(c.waited.Load()),
		Took:      time.Duration(c.took.Load()),
	}
}

// wait counts a review while it waits for its slot.
func (c *counts) wait(ctx context.Context, slot slot) error {
	began := time.Now()
	c.waiting.Add(1)
	defer func() {
		c.waiting.Add(-1)
		c.waited.Add(int64(time.Since(began)))
	}()
	return slot.wait(ctx)
}

// count records the outcome of a review.
func (c *counts) count(err error) {
	var blocked *blockedError
	switch {
	case errors.Is(err, errNoSlot):
		c.rejected.Add(1)
	case errors.Is(err, context.Canceled), errors.As(err, &blocked): // no caller waits for it any longer, or it was not sent
	case err != nil && !aboutTheQuestion(err):
		c.failed.Add(1)
	}
}
