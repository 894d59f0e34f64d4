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

func (n *lookupQueue) slotFor(peer netip.Prefix) *queuedLookup {
	return &queuedLookup{parent: n, peer: peer}
}

// wait implements slot: it waits for a slot of the peer, and then for one of all.
func (c *queuedLookup) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, unknownTokenPatience, errNoSlotForUnknownToken)
	defer cancel()
	if c.queue = c.parent.enter(c.peer); c.queue == nil {
		return errNoSlotForUnknownToken
	}
	if err := c.queue.slots.wait(ctx); err != nil {
		c.parent.leave(c.peer)
		return err
	}
	err := c.parent.slots.wait(ctx)
	if err != nil {
		c.leave()
	}
	return err
}

// end implements slot.
func (c *queuedLookup) end() {
	c.parent.slots.end()
	if c.accepted {
		c.leave()
		return
	}
	time.AfterFunc(rejectionPenalty, c.leave)
}

// keepsWaiting implements slot. A review keeps its place after its client has disconnected:
// reconnecting gains nothing.
func (*queuedLookup) keepsWaiting() bool { return true }

func (c *queuedLookup) leave() {
	c.queue.slots.end()
	c.parent.leave(c.peer)
}

// enter adds a review to a peer's queue and returns the queue; nil if it is full.
func (n *lookupQueue) enter(peer netip.Prefix) *peerQueue {
	n.mu.Lock()
	defer n.mu.Unlock()
	queue, free := n.peers[peer], maxWaiting-n.waiting
	if free == 0 || queue != nil && queue.waiting >= min(maxWaitingOfPeer, free) {
		return nil
	}
	if queue == nil {
		queue = &peerQueue{slots: make(semaphore, maxLookupsOfPeer)}
		n.peers[peer] = queue
	}
	n.waiting++
	queue.waiting++
	return queue
}

func (n *lookupQueue) leave(peer netip.Prefix) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting--
	queue := n.peers[peer]
	if queue.waiting--; queue.waiting == 0 {
		delete(n.peers, peer)
	}
}
