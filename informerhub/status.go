package informerhub

import "time"

// Status is what an operator wants to know of a cache. It names no object.
type Status struct {
	Resource Resource
	// Synced says that the cache holds, or has held, a whole snapshot.
	Synced bool
	Freshness
	// Version is up to where the cache follows the cluster; empty before Synced.
	Version  string
	Objects  int
	Bytes    int // of the objects, roughly: see [Object.Size]
	Watchers int
	// Relists is how many whole snapshots were taken after the first one.
	Relists int
	// RelistingSince is since when a whole snapshot is read, the first one or another, over all
	// attempts; zero if none is.
	RelistingSince time.Time
}

// Status is what the caches are like, in no particular order. It costs what holding
// each cache's lock for a moment does, whatever is in them.
func (h *Hub) Status() []Status {
	caches := h.all()
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
		Watchers:  c.feed.topics.watchers,
		Relists:   max(0, c.snapshots-1),

		RelistingSince: c.following.relisting,
	}
}
