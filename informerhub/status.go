package informerhub

import "time"

// Status is the state of a cache, for operators. It names no object.
type Status struct {
	Resource Resource
	// Synced reports whether the cache has received a complete snapshot.
	Synced bool
	Freshness
	// Version is the version up to which the cache follows the cluster; empty before Synced.
	Version  string
	Objects  int
	Bytes    int // of the objects, roughly: see [Object.Size]
	Watchers int
	// Changes is the number of changes by watches and relists, including one for each object of the
	// first snapshot, and of a snapshot that begins a new history.
	Changes uint64
	// Relists is the number of complete snapshots after the first one.
	Relists int
	Beginnings
	// WindowSince is the time since which each step of each object is known: a watch that was
	// interrupted later continues without a gap. Zero before Synced.
	WindowSince time.Time
	// Rejected reports whether the last failed attempt to list or watch got an error response from the
	// API server, such as forbidden: the connection works.
	Rejected bool
	// Failures is the number of failed attempts to list or watch.
	Failures uint64
	// RelistingSince is the time at which reading of a complete snapshot began, the first one or
	// another, over all attempts; zero if none is being read.
	RelistingSince time.Time
}

// Totals are numbers of caches.
type Totals struct {
	// Started is the number of shared caches that were started since the hub was made.
	Started int64
	// Unused is the number of those that have ended because nobody used them for Options.IdleTimeout.
	Unused int64
	// Private is the number of private caches that run.
	Private int
}

// Totals returns the numbers of caches.
func (h *Hub) Totals() Totals {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Totals{Started: h.started, Unused: h.unused, Private: len(h.private)}
}

// Status returns the state of the caches, in no particular order. It takes each cache's lock for a
// moment, whatever the size of the cache.
func (h *Hub) Status() []Status {
	caches := h.runningCaches()
	all := make([]Status, len(caches))
	for i, cache := range caches {
		all[i] = cache.status()
	}
	return all
}

func (c *Cache) status() Status {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Status{
		Resource:  c.resource,
		Synced:    c.state.synced,
		Freshness: c.freshnessLocked(),
		Version:   c.feed.version,
		Objects:   c.store.count,
		Bytes:     c.store.bytes,
		Watchers:  c.feed.watchers.watchers,
		Changes:   c.feed.end().seq,
		Relists:   max(0, c.snapshots-1),

		Beginnings: c.beginnings.numbers(),

		WindowSince:    c.feed.knownSince(),
		Rejected:       c.following.refused,
		Failures:       c.failures,
		RelistingSince: c.following.relisting,
	}
}
