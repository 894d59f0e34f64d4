package health

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Readiness reports whether the service can serve calls: it has the snapshots that it preloads, or
// reaches the API server, and is not shutting down. The zero value is not ready. Its methods are
// safe for concurrent use.
type Readiness struct {
	mu      sync.Mutex // guards the fields below
	ready   bool
	changed chan struct{} // closed at the next change; nil if there is no waiter
}

// Metric returns the metric of whether the service is ready.
func (r *Readiness) Metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_ready", Help: "1 while the replica is ready, as in /readyz.",
	}, func() float64 {
		if r.IsReady() {
			return 1
		}
		return 0
	})
}

// Set sets whether the service is ready.
func (r *Readiness) Set(ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ready == r.ready {
		return
	}
	r.ready = ready
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// IsReady reports whether the service is ready.
func (r *Readiness) IsReady() bool {
	ready, _ := r.Current()
	return ready
}

// Current reports whether the service is ready, and returns a channel that is closed when that
// changes.
func (r *Readiness) Current() (ready bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.ready, r.changed
}
