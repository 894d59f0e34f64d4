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
	// Relists is the number of complete snapshots after the first one.
	Relists int
	Beginnings
	// WindowSince is the time since which each step of each object is known: a watch that was
	// interrupted later continues without a gap. Zero before Synced.
	WindowSince time.Time
	// RelistingSince is the time at which reading of a complete snapshot began, the first one or
	// another, over all attempts; zero if none is being read.
	RelistingSince time.Time
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
		Relists:   max(0, c.snapshots-1),

		Beginnings: c.beginnings.numbers(),

		WindowSince:    c.feed.knownSince(),
		RelistingSince: c.following.relisting,
	}
}
