package gate

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

const (
	// maxIdleCallers bounds the cached callers without a stream. A caller that is evicted, because
	// too many others have called since, starts with new limits.
	maxIdleCallers = 10_000
	// maxRetryAfter is the longest retry time that a caller is given.
	maxRetryAfter = 30 * time.Second
	// defaultRetryInterval is the interval between the retry times of two rejected calls if there
	// is no rate limit.
	defaultRetryInterval = 10 * time.Millisecond
)

// Callers counts the calls and streams of each caller. Its methods are safe for concurrent use.
type Callers struct {
	credentials *fairqueue.Queue // streams, by credential
	calls       *fairqueue.Queue // running unary calls, by caller

	mu        sync.Mutex // guards the fields below
	limits    Limits
	streaming map[string]*caller // Callers with open streams, which are never evicted
	idle      *lru.Cache         // the others
}

// NewCallers returns callers with the same limits each.
func NewCallers(limits Limits) *Callers {
	return &Callers{
		credentials: newCredentialStreams(limits.CredentialStreams), calls: newCallQueue(limits.Calls),
		limits: limits, streaming: map[string]*caller{}, idle: lru.New(maxIdleCallers),
	}
}

// call returns a *LimitError if a caller has reached its rate limit.
func (c *Callers) call(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).call(c.limits)
}

// open returns a *LimitError if a caller cannot open another stream. Otherwise the stream counts
// until close.
func (c *Callers) open(name string) error {
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

// retryAfter returns the retry time of a caller that is over a limit that is not tracked here.
func (c *Callers) retryAfter(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).retryAfter(c.limits)
}

// AcquireStreams reserves more streams for the open stream of a caller, or returns a *LimitError; a
// BadRequest error if the caller, or one of its credentials, can never have these streams. They count
// until ReleaseStreams.
func (c *Callers) AcquireStreams(name string, more int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streaming[name].acquireStreams(more, c.limits)
}

// ReleaseStreams releases streams of AcquireStreams.
func (c *Callers) ReleaseStreams(name string, fewer int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streaming[name].streams -= fewer
}

// close releases a stream of open.
func (c *Callers) close(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	caller := c.streaming[name]
	if caller.streams--; caller.streams == 0 {
		delete(c.streaming, name)
		c.idle.Add(name, caller)
	}
}

func (c *Callers) callerLocked(name string) *caller {
	if found, ok := c.streaming[name]; ok {
		return found.under(c.limits)
	}
	if found, ok := c.idle.Get(name); ok {
		return found.(*caller).under(c.limits)
	}
	created := newCaller(c.limits)
	c.idle.Add(name, created)
	return created
}

// caller is the calls and streams of one caller. It is guarded by the lock of callers.
type caller struct {
	streams   int
	calls     *rate.Limiter
	lastRetry time.Time // the retry time of the last rejected call
}

func newCaller(limits Limits) *caller {
	return &caller{calls: rate.NewLimiter(rateOf(limits), burstOf(limits))}
}

func (c *caller) open(limits Limits) error {
	if limits.Streams > 0 && c.streams >= limits.Streams {
		return &callerrors.LimitError{Limit: callerrors.LimitStreams, Over: fmt.Sprintf("stream limit reached: %d streams open", c.streams), Wait: c.retryAfter(limits)}
	}
	if err := c.call(limits); err != nil {
		return err
	}
	c.streams++
	return nil
}

func (c *caller) acquireStreams(more int, limits Limits) error {
	if err := limits.checkWatches(more + 1); err != nil {
		return err
	}
	if limits.Streams > 0 && c.streams+more > limits.Streams {
		return &callerrors.LimitError{Limit: callerrors.LimitStreams, Over: fmt.Sprintf("stream limit exceeded: with %d watches and counts %d streams would be open, the limit is %d", more+1, c.streams+more, limits.Streams), Wait: c.retryAfter(limits)}
	}
	c.streams += more
	return nil
}

func (c *caller) call(limits Limits) error {
	if c.calls.Allow() {
		return nil
	}
	return &callerrors.LimitError{Limit: callerrors.LimitRate, Over: fmt.Sprintf("rate limit reached: %d calls a second", limits.Rate), Wait: c.retryAfter(limits)}
}

// retryAfter returns the time after which to retry. Each rejected call gets its own time, at the
// rate at which calls are accepted, so that calls that were rejected together do not return
// together.
func (c *caller) retryAfter(limits Limits) time.Duration {
	interval, now := defaultRetryInterval, time.Now()
	if limits.Rate > 0 {
		interval = time.Second / time.Duration(limits.Rate)
	}
	if c.lastRetry.Before(now) {
		c.lastRetry = now
	}
	if c.lastRetry = c.lastRetry.Add(interval); c.lastRetry.After(now.Add(maxRetryAfter)) {
		c.lastRetry = now.Add(maxRetryAfter)
	}
	return c.lastRetry.Sub(now)
}

func (c *Callers) setLimits(limits Limits) {
	c.mu.Lock()
	c.limits = limits
	c.mu.Unlock()
	c.credentials.SetPerKey(int64(limits.CredentialStreams))
	c.calls.SetPerKey(int64(limits.Calls))
}

// limitsNow returns the limits that apply to new calls and streams.
func (c *Callers) limitsNow() Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits
}

// under applies the limits to a caller, which may have been created under others.
func (c *caller) under(limits Limits) *caller {
	if c.calls.Limit() != rateOf(limits) || c.calls.Burst() != burstOf(limits) {
		c.calls = newCaller(limits).calls
	}
	return c
}

func rateOf(limits Limits) rate.Limit {
	if limits.Rate == 0 {
		return rate.Inf
	}
	return rate.Limit(limits.Rate)
}

func burstOf(limits Limits) int {
	if limits.Rate == 0 {
		return 0
	}
	return limits.Burst
}

// Charge counts a call as additional calls: a call with many questions costs as much as many calls.
// It returns a *LimitError if the caller has reached its rate limit. More than a burst counts as a
// burst, so that no call is rejected forever.
func (c *Callers) Charge(name string, more int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).charge(more, c.limits)
}

func (c *caller) charge(more int, limits Limits) error {
	if limits.Rate == 0 || c.calls.AllowN(time.Now(), min(max(more, 0), limits.Burst-1)) {
		return nil
	}
	return &callerrors.LimitError{Limit: callerrors.LimitRate, Over: fmt.Sprintf("rate limit reached: %d calls a second, and each question counts as a call",
		limits.Rate), Wait: c.retryAfter(limits)}
}

// newCredentialStreams returns the queue of streams by credential; 0 is no limit.
func newCredentialStreams(perCredential int) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: math.MaxInt64, PerKey: int64(perCredential)})
}

// HoldStreams counts streams of a credential of a caller until release is called. It returns a
// *LimitError if the credential would have more streams than allowed.
func (c *Callers) HoldStreams(name, credential string, streams int) (release func(), err error) {
	if streams == 0 {
		return func() {}, nil
	}
	release, ok := c.credentials.TryAcquire(credential, int64(streams))
	if !ok {
		return nil, &callerrors.LimitError{Limit: callerrors.LimitCredentialStreams, Over: fmt.Sprintf("stream limit reached: %d streams open with this credential", c.limitsNow().CredentialStreams), Wait: c.retryAfter(name)}
	}
	return release, nil
}
