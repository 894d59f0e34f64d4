package edge

import (
	"sync"

	"golang.org/x/time/rate"
)

// Adjuster changes the limits of callers and the sample of logged calls while the service runs. The zero
// value is ready for use. Its methods are safe for concurrent use.
type Adjuster struct {
	mu      sync.Mutex // guards the fields below
	callers *Callers
	log     *callLog
}

// attach makes the adjuster change these callers and this log. A nil adjuster ignores the call.
func (a *Adjuster) attach(callers *Callers, log *callLog) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.callers, a.log = callers, log
}

// Adjust replaces the limits of each caller, and the part of successful calls that is logged. The limits
// apply to the calls and streams that begin later: open streams stay open, also above a lower limit.
func (a *Adjuster) Adjust(limits Limits, logSample float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.callers != nil {
		a.callers.setLimits(limits)
		a.log.setSample(logSample)
	}
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
