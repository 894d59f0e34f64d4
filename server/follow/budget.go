package follow

import (
	"errors"
	"sync"
)

// ErrMemory reports that a state needs more memory than the caller, or all callers together, can use.
var ErrMemory = errors.New("not enough memory for what the stream follows")

// Limits bound the memory of states, in bytes. A caller can use more only while its part is at most
// what is then left for others: so some callers with much leave enough for many with little.
type Limits struct {
	Total     int
	PerCaller int
	// Changed is called with the number of followers and their memory when these have changed. It must
	// return soon, and is not called concurrently. Nil for none.
	Changed func(followers, bytes int)
}

// Budget is the memory that followers share. It is safe for concurrent use.
type Budget struct {
	limits   Limits
	shortage []func() // release memory of followers without streams; set before the first use

	mu        sync.Mutex // guards the fields below; no other lock is taken while it is held
	followers int
	total     int
	byCaller  map[string]int
}

// NewBudget returns a budget with the given limits.
func NewBudget(limits Limits) *Budget {
	if limits.Changed == nil {
		limits.Changed = func(int, int) {}
	}
	return &Budget{limits: limits, byCaller: make(map[string]int)}
}

// onShortage adds a function that is called when memory is short.
func (b *Budget) onShortage(release func()) { b.shortage = append(b.shortage, release) }

// add changes the memory that a caller uses, and the number of followers. It returns false, and changes
// nothing, if that would exceed a limit.
func (b *Budget) add(caller string, bytes, followers int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	part, left := b.byCaller[caller]+bytes, b.limits.Total-b.total-bytes
	if bytes > 0 && part > min(left, b.limits.PerCaller) {
		return false
	}
	b.total, b.followers = b.total+bytes, b.followers+followers
	b.limits.Changed(b.followers, b.total)
	if b.byCaller[caller] += bytes; b.byCaller[caller] == 0 {
		delete(b.byCaller, caller)
	}
	return true
}

// charge is the part of a budget that one follower uses.
type charge struct {
	budget *Budget
	caller string

	mu       sync.Mutex // guards the fields below; Budget.mu is taken while it is held
	bytes    int
	released bool
}

// followerBytes estimates the memory of a follower without its state.
const followerBytes = 32 << 10

// resize changes the charge to that of a state with a number of bytes. If there is not enough memory, it ends followers
// without streams, and fails with ErrMemory if that does not help.
func (c *charge) resize(bytes int) error {
	bytes += followerBytes
	if c.tryResize(bytes) {
		return nil
	}
	for _, release := range c.budget.shortage {
		release()
	}
	if c.tryResize(bytes) {
		return nil
	}
	return ErrMemory
}

func (c *charge) tryResize(bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return true
	}
	started := 0
	if c.bytes == 0 {
		started = 1
	}
	if bytes != c.bytes && !c.budget.add(c.caller, bytes-c.bytes, started) {
		return false
	}
	c.bytes = bytes
	return true
}

// release ends the charge.
func (c *charge) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes > 0 {
		c.budget.add(c.caller, -c.bytes, -1)
	}
	c.bytes, c.released = 0, true
}
