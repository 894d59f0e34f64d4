package auth

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxNewcomers bounds the concurrent reviews of unknown tokens. They are separate from those of
	// known tokens, which no flood of invalid tokens can delay.
	maxNewcomers = 32
	// maxOfPeer bounds the concurrent reviews of one peer, so that others get a slot.
	maxOfPeer = 16
	// maxWaiting bounds the reviews that have or wait for a slot, and maxWaitingOfPeer those of one
	// peer, which never has more than it leaves free. They are large because all agents behind one
	// address may call for the first time at once. They bound the memory: each review is a
	// goroutine and a token.
	maxWaiting       = 2048
	maxWaitingOfPeer = 1024
	// newcomerPatience is how long an unknown token waits for a slot: enough for all waiting
	// reviews of a peer.
	newcomerPatience = 12 * time.Second
	// afterFailure is how long a peer's slot stays occupied after its token was rejected. Therefore
	// a flood from one peer costs the API server at most maxOfPeer reviews in that time.
	afterFailure = 100 * time.Millisecond
)

// newcomers queues the reviews of unknown tokens, fairly by the peers that sent them. Its methods
// are safe for concurrent use.
type newcomers struct {
	slots slots

	mu      sync.Mutex              // guards the fields below
	waiting int                     // reviews that have or wait for a slot
	peers   map[netip.Prefix]*queue // the peers of these reviews
}

// slots is a semaphore with the capacity of the channel.
type slots chan struct{}

func (s slots) wait(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s slots) end() { <-s }

// queue contains the reviews of one peer.
type queue struct {
	slots   slots
	waiting int // guarded by the mutex of newcomers
}

func newNewcomers() *newcomers {
	return &newcomers{slots: make(slots, maxNewcomers), peers: map[netip.Prefix]*queue{}}
}

// newcomer is the turn of one review.
type newcomer struct {
	among    *newcomers
	peer     netip.Prefix
	queue    *queue // set by wait
	accepted bool   // whether the token was accepted; set before end
}

func (n *newcomers) from(peer netip.Prefix) *newcomer { return &newcomer{among: n, peer: peer} }

// wait implements turn: it waits for a slot of the peer, and then for one of all.
func (c *newcomer) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, newcomerPatience, errNoNewcomer)
	defer cancel()
	if c.queue = c.among.enter(c.peer); c.queue == nil {
		return errNoNewcomer
	}
	if err := c.queue.slots.wait(ctx); err != nil {
		c.among.leave(c.peer)
		return err
	}
	err := c.among.slots.wait(ctx)
	if err != nil {
		c.leave()
	}
	return err
}

// end implements turn.
func (c *newcomer) end() {
	c.among.slots.end()
	if c.accepted {
		c.leave()
		return
	}
	time.AfterFunc(afterFailure, c.leave)
}

// staysInLine implements turn. A review keeps its place after its client has disconnected:
// reconnecting gains nothing.
func (*newcomer) staysInLine() bool { return true }

func (c *newcomer) leave() {
	c.queue.slots.end()
	c.among.leave(c.peer)
}

// enter adds a review to a peer's queue and returns the queue; nil if it is full.
func (n *newcomers) enter(peer netip.Prefix) *queue {
	n.mu.Lock()
	defer n.mu.Unlock()
	of, free := n.peers[peer], maxWaiting-n.waiting
	if free == 0 || of != nil && of.waiting >= min(maxWaitingOfPeer, free) {
		return nil
	}
	if of == nil {
		of = &queue{slots: make(slots, maxOfPeer)}
		n.peers[peer] = of
	}
	n.waiting++
	of.waiting++
	return of
}

func (n *newcomers) leave(peer netip.Prefix) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting--
	of := n.peers[peer]
	if of.waiting--; of.waiting == 0 {
		delete(n.peers, peer)
	}
}
