package bubble_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
)

// TestBubble_ExpiredTimersCanBeReadWhileOthersFire reproduces what makes the race detector abort on
// several processors.
func TestBubble_ExpiredTimersCanBeReadWhileOthersFire(t *testing.T) {
	bubble.Test(t, func(*testing.T) {
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				for range 1000 {
					expired := time.NewTimer(time.Millisecond)
					time.Sleep(time.Millisecond)
					<-expired.C
				}
			})
		}
		readers.Wait()
	})
}

func TestBubble_RestoresGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	bubble.Test(t, func(t *testing.T) {
		if now := runtime.GOMAXPROCS(0); now != 1 {
			t.Errorf("%d processors in a bubble, want 1", now)
		}
	})
	if now := runtime.GOMAXPROCS(0); now != before {
		t.Errorf("%d processors after a bubble, want %d as before", now, before)
	}
}
