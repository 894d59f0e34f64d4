// Package bubble runs tests in a synctest bubble, where time is the test's own.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Test is [synctest.Test] on one processor. A bubble's timers share one context of the
// race detector, and a goroutine that reads an expired timer's channel uses it beside
// the runtime that fires others: on several processors the detector then ends the whole
// program with a failed CHECK (golang/go#78156). It finds races by what happened before
// what, so one processor hides none from it.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	one.enter()
	defer one.leave()
	synctest.Test(t, f)
}

// one is the processor for as long as there are bubbles.
var one processor

type processor struct {
	mu      sync.Mutex // guards what follows
	bubbles int
	before  int // how many processors there were before the first
}

func (p *processor) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bubbles++; p.bubbles == 1 {
		p.before = runtime.GOMAXPROCS(1)
	}
}

func (p *processor) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bubbles--; p.bubbles == 0 {
		runtime.GOMAXPROCS(p.before)
	}
}
