package watchlist

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Pause is the time for which a resource is listed after a watch-list was not completed.
const Pause = 4 * time.Hour

// Memory knows the resources whose watch-lists are not completed. The zero value knows none. Its methods are safe for concurrent use.
type Memory struct {
	unfinished atomic.Int64 // number of watch-lists that were ended

	mu      sync.Mutex           // guards avoided
	avoided map[string]time.Time // the end of the pause, by resource
}

// Unfinished returns the number of watch-lists that were ended because they were not completed.
func (m *Memory) Unfinished() int64 { return m.unfinished.Load() }

// avoids reports whether a resource must be listed.
func (m *Memory) avoids(resource string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetLocked()
	_, ok := m.avoided[resource]
	return ok
}

// forgetLocked ends pauses, so that no resource is kept that is no longer served.
func (m *Memory) forgetLocked() {
	now := time.Now()
	for resource, end := range m.avoided {
		if !now.Before(end) {
			delete(m.avoided, resource)
		}
	}
}

// avoid has a resource listed for a pause, and logs it. Several Reflectors of a resource can find out at the same time.
func (m *Memory) avoid(resource string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.avoided[resource]; ok {
		return
	}
	if m.avoided == nil {
		m.avoided = make(map[string]time.Time)
	}
	m.avoided[resource] = time.Now().Add(Pause)
	slog.Warn("the API server, or a proxy before it, does not complete watch-lists: the resource is listed instead",
		"resource", resource, "hours", Pause.Hours())
}
