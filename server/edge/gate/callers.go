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
//
// A caller is in streaming while it has an open stream, and in idle otherwise, never in both. Only idle callers can be evicted:
// an evicted caller starts with new limits, and its open streams would no longer be counted.
type Callers struct {
	// Set once. The queues have locks of their own, which are never taken while mu is held.
	credentials *fairqueue.Queue // streams, by credential
	calls       *fairqueue.Queue // running unary calls, by caller

	mu        sync.Mutex // guards the fields below, and the callers in them
	limits    Limits
	streaming map[string]*caller // callers with open streams, by their keys
	idle      *lru.Cache         // all other callers, by their keys
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
// until close. The limit and the count are one step, so that streams that are opened together cannot exceed it.
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
// until ReleaseStreams, which must be called before close. The stream is open, so the caller is in streaming.
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

// close releases a stream of open. After the last stream the caller can be evicted.
func (c *Callers) close(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	caller := c.streaming[name]
	if caller.streams--; caller.streams == 0 {
		delete(c.streaming, name)
		c.idle.Add(name, caller)
	}
}

// callerLocked returns a caller under the current limits. It creates the caller if it has not called before, or was evicted.
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

// caller is the calls and streams of one caller. It is guarded by Callers.mu.
type caller struct {
	streams   int           // open streams; a stream of several watches counts once for each watch
	calls     *rate.Limiter // replaced when the limits change
	lastRetry time.Time     // the retry time of the last rejected call
}

func newCaller(limits Limits) *caller {
	return &caller{calls: rate.NewLimiter(rateOf(limits), burstOf(limits))}
}

// open counts a stream. The limit of streams comes first: a stream above it does not use up the rate of calls.
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

// acquireStreams counts more streams, in addition to the stream that open has counted. All of them are counted, or none.
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

// setLimits replaces the limits. Each caller gets them when it calls next: see under.
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

// under applies the limits to a caller, which may have been created under other limits. A new rate begins with a full burst.
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

// Charge counts a call as additional calls: a call with many questions, or many watches, costs as much as many calls.
// It returns a *LimitError if the caller has reached its rate limit. More than a burst counts as a
// burst, so that no call is rejected forever.
func (c *Callers) Charge(name string, more int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).charge(more, c.limits)
}

// charge counts more calls. The call itself was counted when it began, so at most the rest of a burst is left to count.
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
