package edge

import (
	"fmt"
	"time"
)

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
	return &LimitError{Limit: LimitRate, Over: fmt.Sprintf("rate limit reached: %d calls a second, and each question counts as a call",
		limits.Rate), Wait: c.retryAfter(limits)}
}
