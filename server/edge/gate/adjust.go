package gate

import (
	"sync"

	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

// Adjuster changes the limits of callers and the sample of logged calls while the service runs. The zero
// value is ready for use. Its methods are safe for concurrent use.
type Adjuster struct {
	mu      sync.Mutex // guards the fields below; taken before the locks of Callers and of its queues
	callers *Callers   // nil before Attach, like log
	log     *observe.CallLog
}

// Attach makes the adjuster change these callers and this log. A nil adjuster ignores the call. Before Attach, Adjust
// has no effect.
func (a *Adjuster) Attach(callers *Callers, log *observe.CallLog) {
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
		a.log.SetSample(logSample)
	}
}
