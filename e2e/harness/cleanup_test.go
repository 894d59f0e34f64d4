package harness_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

func TestCleanup_ReleasesWhatTheFunctionRefersTo(t *testing.T) {
	released := make(chan struct{})
	var ended *testing.T // as package testing retains it while other parallel tests run
	t.Run("with a recording", func(t *testing.T) {
		ended = t
		recording := make([]byte, 1<<20)
		runtime.AddCleanup(&recording[0], func(struct{}) { close(released) }, struct{}{})
		harness.Cleanup(t, func() { recording[0]++ })
	})
	defer runtime.KeepAlive(ended)
	deadline := time.After(harness.Patience(10 * time.Second))
	for {
		runtime.GC()
		select {
		case <-released:
			return
		case <-deadline:
			t.Fatal("the recording of a test that has ended is still in memory")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
