package reads

import (
	"container/list"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

// listLifetime is the time that a list is cached after its last page.
const listLifetime = 30 * time.Second

// listShare is the memory for cached lists whose objects are in no informer cache.
var listShare = memorylimit.Share{Divisor: 16, Min: 32 << 20, Max: 256 << 20, Unlimited: 256 << 20}

// listActive is the time after its use during which a list is not evicted for another list of its
// caller.
const listActive = 5 * time.Second

// listCache caches lists that are expensive to create: sorted lists, and lists that were read at
// the API server. Their next pages are taken from them. Lists of a caller that have not been used
// for some seconds are evicted for new lists of that caller, and never for another caller. Its methods
// are safe for concurrent use.
//
// A list that is not cached is created again for its next page, with the same result. A list of the API server is read
// again only once: if there is still no memory for it, the list ends, see errPageNotKept.
type listCache struct {
	memory *fairqueue.Queue // bytes, by caller; set once

	mu       sync.Mutex               // guards the fields below; taken before the lock of memory
	byKey    map[string]*list.Element // the elements of used, by tokens.Page.KeyFor: a key belongs to one credential
	used     *list.List               // of *cachedList, least recently used first
	sweeping *time.Timer              // evicts the first of used at the end of its lifetime; nil while there are no lists
}

// orderedList is a complete list in its order: with the objects if they are in no informer cache,
// and with their names otherwise. It is immutable, so calls use it without the lock, also after it was evicted.
//
// The objects of an informer cache are looked up again by their names, at the version of the list. Keeping them would keep
// their old states in memory, which the informer cache has dropped.
type orderedList struct {
	Result
	names []informerhub.ObjectName // nil if Result has the objects
}

// cachedList is a cached list. It is immutable except for used.
type cachedList struct {
	orderedList
	key, owner string    // owner is the caller; see call.CallerKey
	used       time.Time // guarded by the lock of listCache
	release    func()    // releases its memory; called once, by removeLocked
}

// unused returns the time since the list was last used. The lock of listCache is held.
func (l *cachedList) unused() time.Duration { return time.Since(l.used) }

// newListCache returns an empty cache. It has no goroutine: a timer runs while there are lists.
func newListCache(metrics *observe.Metrics) *listCache {
	return &listCache{
		memory: metrics.Queue("list_snapshot_bytes", fairqueue.New(fairqueue.Limits{Total: listShare.Bytes()})),
		byKey:  make(map[string]*list.Element), used: list.New(),
	}
}

const (
	pointerBytes = 8
	stringBytes  = 16
	// listBytes is the minimum size that a list counts as. It bounds the number of lists.
	listBytes = 64 << 10
)

// newOrderedList returns a list without the objects that are in its informer cache.
func newOrderedList(list Result) orderedList {
	list.warnings = nil // the first page has them
	list.cache, list.selection = nil, nil
	if list.unshared {
		return orderedList{Result: list}
	}
	objects := list.Snapshot.Objects
	list.Snapshot.Objects = nil
	return orderedList{Result: list, names: objectNames(objects)}
}

// objectNames returns the names of objects. They share no memory with the objects.
func objectNames(objects []*informerhub.Object) []informerhub.ObjectName {
	names, namespaces := make([]informerhub.ObjectName, len(objects)), make(map[string]string)
	for i, object := range objects {
		namespace, ok := namespaces[object.Namespace()]
		if !ok {
			namespace = strings.Clone(object.Namespace())
			namespaces[namespace] = namespace
		}
		names[i] = informerhub.ObjectName{Namespace: namespace, Name: strings.Clone(object.Name())}
	}
	return names
}

// size returns the estimated memory of the list.
func (l orderedList) size() int64 {
	size := listBytes
	for _, object := range l.Snapshot.Objects {
		size += pointerBytes + object.Size()
	}
	for _, name := range l.names {
		size += int(unsafe.Sizeof(name)) + len(name.Name)
	}
	for _, namespace := range l.scope.Names {
		size += stringBytes + len(namespace)
	}
	return int64(size)
}

// add caches a list, and reports whether there is memory for it. A list that is cached already is used again.
//
// The names of a long list are copied without the lock, so two calls can do that at the same time. The second of them finds
// the list of the first, and drops its own.
func (c *listCache) add(key, owner string, found Result) bool {
	if _, ok := c.find(key); ok {
		return true
	}
	cached := &cachedList{orderedList: newOrderedList(found), key: key, owner: owner}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.useLocked(key) != nil {
		return true
	}
	release, ok := c.acquireLocked(owner, cached.size()+int64(len(key)))
	if !ok {
		return false
	}
	cached.release, cached.used = release, time.Now()
	c.byKey[key] = c.used.PushBack(cached)
	if c.sweeping == nil {
		c.sweeping = time.AfterFunc(listLifetime, c.sweep)
	}
	return true
}

// acquireLocked acquires memory for a list of an owner. It evicts lists of the owner that are not
// active if necessary.
func (c *listCache) acquireLocked(owner string, bytes int64) (release func(), ok bool) {
	// TryShare does not wait: a list that does not fit is not cached, and the response is not delayed.
	for {
		if release, ok = c.memory.TryShare(owner, bytes); ok || !c.removeOldestLocked(owner) {
			return release, ok
		}
	}
}

// removeOldestLocked evicts the least recently used list of an owner, and reports whether there was
// a list that is not active. Lists that are active are being read, page by page: without them, two
// lists that do not fit together would evict each other at every page.
func (c *listCache) removeOldestLocked(owner string) bool {
	for at := c.used.Front(); at != nil && at.Value.(*cachedList).unused() >= listActive; at = at.Next() {
		if at.Value.(*cachedList).owner == owner {
			c.removeLocked(at)
			return true
		}
	}
	return false
}

// find returns a cached list, and extends its lifetime.
func (c *listCache) find(key string) (found orderedList, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached := c.useLocked(key); cached != nil {
		return cached.orderedList, true
	}
	return orderedList{}, false
}

// useLocked returns a cached list, and extends its lifetime; nil if it is not cached.
func (c *listCache) useLocked(key string) *cachedList {
	at := c.byKey[key]
	if at == nil {
		return nil
	}
	cached := at.Value.(*cachedList)
	cached.used = time.Now()
	c.used.MoveToBack(at)
	return cached
}

// sweep evicts the lists whose lifetime is over, and sets the timer for the next list. The lists are in the order of
// their last use, so the first list whose lifetime is not over ends the loop.
func (c *listCache) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.used.Front()
	for ; first != nil && first.Value.(*cachedList).unused() >= listLifetime; first = c.used.Front() {
		c.removeLocked(first)
	}
	c.sweeping = nil
	if first != nil {
		c.sweeping = time.AfterFunc(listLifetime-first.Value.(*cachedList).unused(), c.sweep)
	}
}

// removeLocked evicts a list, and releases its memory. Calls that have found the list may still use it.
func (c *listCache) removeLocked(at *list.Element) {
	removed := c.used.Remove(at).(*cachedList)
	delete(c.byKey, removed.key)
	removed.release()
}
