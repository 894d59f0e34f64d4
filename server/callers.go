package server

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxIdleCallers bounds the cached callers without a stream. A caller that is evicted, because
	// too many others have called since, starts with new limits.
	maxIdleCallers = 10_000
	// maxWait is the longest retry time that a caller is given.
	maxWait = 30 * time.Second
	// defaultTurn is the interval between the retry times of two rejected calls if there is no rate
	// limit.
	defaultTurn = 10 * time.Millisecond
)

// callers counts the calls and streams of each caller. Its methods are safe for concurrent use.
type callers struct {
	limits      Limits           // set once
	credentials *fairqueue.Queue // streams, by credential; nil without a limit

	mu        sync.Mutex         // guards the fields below
	streaming map[string]*caller // callers with open streams, which are never evicted
	idle      *lru.Cache         // the others
}

func newCallers(limits Limits) *callers {
	return &callers{limits: limits, credentials: newCredentialStreams(limits.CredentialStreams), streaming: map[string]*caller{}, idle: lru.New(maxIdleCallers)}
}

// call returns a *limitError if a caller has reached its rate limit.
func (c *callers) call(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).call(c.limits)
}

// open returns a *limitError if a caller cannot open another stream. Otherwise the stream counts
// until close.
func (c *callers) open(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	caller := c.callerLocked(name)
	if err := caller.open(c.limits); err != nil {
		return err
	}
	c.idle.Remove(name)
	c.streaming[name] = caller
	return nil
}

// nextTurn returns the retry time of a caller that is over a limit that is not tracked here.
func (c *callers) nextTurn(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).nextTurn(c.limits)
}

// widen reserves more streams for the open stream of a caller, or returns a *limitError. The caller
// of widen must release them with narrow.
func (c *callers) widen(name string, more int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streaming[name].widen(more, c.limits)
}

func (c *callers) narrow(name string, fewer int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streaming[name].streams -= fewer
}

func (c *callers) close(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	caller := c.streaming[name]
	if caller.streams--; caller.streams == 0 {
		delete(c.streaming, name)
		c.idle.Add(name, caller)
	}
}

func (c *callers) callerLocked(name string) *caller {
	if found, ok := c.streaming[name]; ok {
		return found
	}
	if found, ok := c.idle.Get(name); ok {
		return found.(*caller)
	}
	made := newCaller(c.limits)
	c.idle.Add(name, made)
	return made
}

// caller is the calls and streams of one caller. It is guarded by the lock of callers.
type caller struct {
	streams int
	calls   *rate.Limiter
	turn    time.Time // the retry time of the last rejected call
}

func newCaller(limits Limits) *caller {
	if limits.Rate == 0 {
		return &caller{calls: rate.NewLimiter(rate.Inf, 0)}
	}
	return &caller{calls: rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst)}
}

func (c *caller) open(limits Limits) error {
	if limits.Streams > 0 && c.streams >= limits.Streams {
		return &limitError{fmt.Sprintf("stream limit reached: %d streams open", c.streams), c.nextTurn(limits)}
	}
	if err := c.call(limits); err != nil {
		return err
	}
	c.streams++
	return nil
}

func (c *caller) widen(more int, limits Limits) error {
	if limits.Streams > 0 && c.streams+more > limits.Streams {
		return &limitError{fmt.Sprintf("stream limit exceeded: with %d watches %d streams would be open, the limit is %d", more+1, c.streams+more, limits.Streams), c.nextTurn(limits)}
	}
	c.streams += more
	return nil
}

func (c *caller) call(limits Limits) error {
	if c.calls.Allow() {
		return nil
	}
	return &limitError{fmt.Sprintf("rate limit reached: %d calls a second", limits.Rate), c.nextTurn(limits)}
}

// nextTurn returns the time after which to retry. Each rejected call gets its own time, at the rate
// at which calls are accepted, so that calls that were rejected together do not return together.
func (c *caller) nextTurn(limits Limits) time.Duration {
	between, now := defaultTurn, time.Now()
	if limits.Rate > 0 {
		between = time.Second / time.Duration(limits.Rate)
	}
	if c.turn.Before(now) {
		c.turn = now
	}
	if c.turn = c.turn.Add(between); c.turn.After(now.Add(maxWait)) {
		c.turn = now.Add(maxWait)
	}
	return c.turn.Sub(now)
}
