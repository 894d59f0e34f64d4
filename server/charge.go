package server

import (
	"fmt"
	"time"
)

// charge counts a call as some calls more: one that asks many questions costs as much as many
// calls do. It returns a *limitError if the caller may not make so many now. More than a burst
// counts as a burst, so that no call is refused for ever.
func (c *callers) charge(name string, more int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerLocked(name).charge(more, c.limits)
}

func (c *caller) charge(more int, limits Limits) error {
	if limits.Rate == 0 || c.calls.AllowN(time.Now(), min(max(more, 0), limits.Burst-1)) {
		return nil
	}
	return &limitError{fmt.Sprintf("each question counts as a call, and you make more than %d calls a second, which is as many as one caller may",
		limits.Rate), c.nextTurn(limits)}
}
