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
	// maxIdleCallers is how many callers without a stream are remembered. One who
	// is forgotten, for so many others have called since, begins anew.
	maxIdleCallers = 10_000
	// maxWait is the longest time after which a caller is told to call again.
	maxWait = 30 * time.Second
	// defaultTurn is the time between two callers who come back, where no rate says it.
	defaultTurn = 10 * time.Millisecond
)

// callers counts what each caller has under way. Its methods are safe for
// concurrent use.
type callers struct {
	limits      Limits           // set once
	credentials *fairqueue.Queue // streams, by credential; nil without a limit

	mu        sync.Mutex         // guards the fields below
	streaming map[string]*caller // those with open streams, who are never forgotten
	idle      *lru.Cache         // the others
}

func newCallers(limits Limits) *callers {
	return &callers{limits: limits, credentials: newCredentialStreams(limits.CredentialStreams), streaming: map[string]*caller{}, idle: lru.New(maxIdleCallers)}
}

// call answers a *limitError if a caller may not make a call now.
func (c *callers) call(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).call(c.limits)
}

// open answers a *limitError if a caller may not open a stream now. Otherwise the
// stream counts until close.
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

// nextTurn is after which time a caller is to call again that is over a limit which is not kept here.
func (c *callers) nextTurn(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).nextTurn(c.limits)
}

// widen answers a *limitError if a caller's open stream may not count as some more.
// Otherwise it does until narrow.
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

// caller is what one caller has under way. The callers' lock guards it.
type caller struct {
	streams int
	calls   *rate.Limiter
	turn    time.Time // when the last one who was refused is to call again
}

func newCaller(limits Limits) *caller {
	if limits.Rate == 0 {
		return &caller{calls: rate.NewLimiter(rate.Inf, 0)}
	}
	return &caller{calls: rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst)}
}

func (c *caller) open(limits Limits) error {
	if limits.Streams > 0 && c.streams >= limits.Streams {
		return &limitError{fmt.Sprintf("you have %d streams open, as many as one caller may", c.streams), c.nextTurn(limits)}
	}
	if err := c.call(limits); err != nil {
		return err
	}
	c.streams++
	return nil
}

func (c *caller) widen(more int, limits Limits) error {
	if limits.Streams > 0 && c.streams+more > limits.Streams {
		return &limitError{fmt.Sprintf("with %d watches you have %d streams open, and one caller may have %d", more+1, c.streams+more, limits.Streams), c.nextTurn(limits)}
	}
	c.streams += more
	return nil
}

func (c *caller) call(limits Limits) error {
	if c.calls.Allow() {
		return nil
	}
	return &limitError{fmt.Sprintf("you make more than %d calls a second, which is as many as one caller may", limits.Rate), c.nextTurn(limits)}
}

// nextTurn is after which time to call again. Each who is refused has a turn of
// their own, at the rate at which calls are taken: those who were refused together
// do not come back together.
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
