package faketime_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// TestTest_ExpiredTimersCanBeReadWhileOthersFire reproduces what makes the race detector abort on
// several processors.
func TestTest_ExpiredTimersCanBeReadWhileOthersFire(t *testing.T) {
	faketime.Test(t, func(*testing.T) {
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

func TestTest_RestoresGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	faketime.Test(t, func(t *testing.T) {
		if now := runtime.GOMAXPROCS(0); now != 1 {
			t.Errorf("%d processors in a bubble, want 1", now)
		}
	})
	if now := runtime.GOMAXPROCS(0); now != before {
		t.Errorf("%d processors after a bubble, want %d as before", now, before)
	}
}
