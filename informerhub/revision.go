package informerhub

// Revision identifies the content of one cache at one time. Two equal revisions of caches are of the
// same content at the same resource version. Every change results in another revision: also a
// deletion at a version that the cache had already reached, a relist that finds another content of
// an object at its version, and a history that was undone. Caches of different replicas, and a
// cache that was evicted and started again, never have equal revisions.
type Revision struct {
	epoch   uint64 // random
	changes uint64 // see feed.last
	version string
}

// Revision returns the revision of the cache. A read that begins afterwards returns this revision's
// content or a newer one.
func (c *Cache) Revision() Revision {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Revision{c.feed.epoch.id, c.feed.last, c.feed.version}
}
