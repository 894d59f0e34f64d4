// Package faketime runs tests with fake time, in a synctest bubble.
package faketime

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Test is [synctest.Test] on one processor. A bubble's timers share one context of the race
// detector, and a goroutine that reads the channel of an expired timer uses that context
// concurrently with the runtime that fires other timers: on several processors the detector then
// aborts the program with a failed CHECK (golang/go#78156). The detector finds races by
// happens-before order, so running on one processor hides none.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	one.enter()
	defer one.leave()
	synctest.Test(t, f)
}

// one limits the program to one processor while there are bubbles.
var one processor

type processor struct {
	mu      sync.Mutex // guards the fields below
	bubbles int
	before  int // number of processors before the first bubble
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
