package limits_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// sampleInterval is the interval between two samples.
const sampleInterval = 100 * time.Millisecond

// memorySampler samples the memory of a service, as the operating system counts it.
type memorySampler struct {
	stop, stopped chan struct{}
	most          int // read after stopped is closed
}

func sampleMemory(t *testing.T, service *harness.Service) *memorySampler {
	s := &memorySampler{stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(s.stopped)
		ticks := time.NewTicker(sampleInterval)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				s.most = max(s.most, kit.ResidentMemory(t, service.PID()))
			case <-s.stop:
				return
			}
		}
	}()
	return s
}

// end returns the maximum since the start.
func (s *memorySampler) end() int {
	close(s.stop)
	<-s.stopped
	return s.most
}
