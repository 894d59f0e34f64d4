package auth

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxNewcomers bounds the look-ups of unknown tokens at one time. They are beside
	// those of known ones, which no flood of made-up tokens can hold up.
	maxNewcomers = 32
	// maxOfPeer is how many of them one peer may have, so that others have a turn.
	maxOfPeer = 16
	// maxWaiting bounds those that have or wait for a turn, and maxWaitingOfPeer those of
	// one peer, which never has more than it leaves free: all agents behind one address may call for the
	// first time at once. They are what bounds the memory: each is a goroutine and a token.
	maxWaiting       = 2048
	maxWaitingOfPeer = 1024
	// newcomerPatience is how long an unknown token waits for a turn: long enough for as many of a
	// peer as may wait.
	newcomerPatience = 12 * time.Second
	// afterFailure is how long a peer's turn stays taken when its token was not accepted.
	// So a flood from one peer costs the API server maxOfPeer reviews in that time at most.
	afterFailure = 100 * time.Millisecond
)

// newcomers gives turns to the look-ups of tokens that are not known, by the peers that
// sent them. Its methods are safe for concurrent use.
type newcomers struct {
	slots slots

	mu      sync.Mutex              // guards the fields below
	waiting int                     // those that have or wait for a turn
	peers   map[netip.Prefix]*queue // of those who have some of them
}

// slots are turns for as many look-ups at one time as the channel holds.
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

// queue is what one peer has and waits for.
type queue struct {
	slots   slots
	waiting int // guarded by the lock of newcomers
}

func newNewcomers() *newcomers {
	return &newcomers{slots: make(slots, maxNewcomers), peers: map[netip.Prefix]*queue{}}
}

// newcomer is the turn of one look-up.
type newcomer struct {
	among    *newcomers
	peer     netip.Prefix
	queue    *queue // set by wait
	accepted bool   // whether the token was; set before end
}

func (n *newcomers) from(peer netip.Prefix) *newcomer { return &newcomer{among: n, peer: peer} }

// wait implements turn: it waits for one of the peer's turns, and then for one among all.
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

// staysInLine implements turn. Who hangs up has had the place: no more can be had by that.
func (*newcomer) staysInLine() bool { return true }

func (c *newcomer) leave() {
	c.queue.slots.end()
	c.among.leave(c.peer)
}

// enter answers a peer's queue with one more in it; nil if there are too many.
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
