package auth

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

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
	// unknownTokenPatience is how long an unknown token waits for a slot: enough for all waiting
	// reviews of a peer.
	unknownTokenPatience = 12 * time.Second
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
	ctx, cancel := context.WithTimeoutCause(ctx, unknownTokenPatience, errNoSlotForUnknownToken)
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
