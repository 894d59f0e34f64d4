package informerhub

import (
	"fmt"
	"math"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxPrivateBytes is how many bytes of objects all private caches hold, and
	// maxCallerPrivateBytes how many those of one caller do.
	maxPrivateBytes       = 256 << 20
	maxCallerPrivateBytes = 64 << 20
	// minPrivateBytes is what each private cache counts as at least.
	minPrivateBytes = 32 << 10
	// maxPrivateLists is how many private caches wait for their first snapshot at a time, and
	// maxCallerPrivateLists how many of one caller do. Others wait until it is their turn.
	maxPrivateLists       = 64
	maxCallerPrivateLists = 4
	// privateRetrySeconds is after how long to try again where there is no memory. Clients do so
	// by themselves, and each time the API server sends the objects again.
	privateRetrySeconds = 30
	// privateListPage is how many objects of a list are read at a time. What they take is only
	// known then.
	privateListPage = 100
)

func newPrivateBytes() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxPrivateBytes, PerKey: maxCallerPrivateBytes})
}

func newPrivateLists() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxPrivateLists, PerKey: maxCallerPrivateLists, Waiting: math.MaxInt})
}

// privateMemory is what one private cache holds of the memory for all of them: its objects, its
// window, and a snapshot that is being read. It is safe for concurrent use.
type privateMemory struct {
	queue    *fairqueue.Queue // set once, with those below
	caller   string
	resource Resource
	overflow func(error) // ends the cache

	mu       sync.Mutex // guards the fields below; the queue's is taken under it
	ended    bool
	reading  bool // a snapshot is being read
	incoming int  // bytes of that
	kept     int  // bytes of the cache
	held     int
	shares   []privateShare
}

// privateShare is a part of what a cache holds. The parts grow with their number.
type privateShare struct {
	bytes   int
	release func()
}

// beginSnapshot notes that a snapshot will be read.
func (m *privateMemory) beginSnapshot() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading, m.incoming = true, 0
}

// receive counts objects that have come from the API server. It returns an error, and ends the
// cache, if there is no memory for them.
func (m *privateMemory) receive(objects ...*Object) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.reading {
		return nil // counted when the cache has it
	}
	for _, object := range objects {
		m.incoming += object.Size()
	}
	return m.holdLocked()
}

// settle counts what the cache keeps. A snapshot that was being read is part of that if replaced is
// true.
func (m *privateMemory) settle(kept int, replaced bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept = kept; replaced {
		m.reading, m.incoming = false, 0
	}
	return m.holdLocked()
}

// end releases all memory.
func (m *privateMemory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.releaseLocked(0)
}

// holdLocked holds as much as is needed: not much more, and not less unless it fails.
func (m *privateMemory) holdLocked() error {
	needed := max(m.kept+m.incoming, minPrivateBytes)
	for m.held < needed && !m.ended {
		if !m.growLocked(max(minPrivateBytes, m.held/4)) && !m.growLocked(needed-m.held) {
			err := m.tooMuch()
			m.overflow(err)
			return err
		}
	}
	m.releaseLocked(needed)
	return nil
}

// growLocked reports whether so much more could be held.
func (m *privateMemory) growLocked(bytes int) bool {
	release, ok := m.queue.TryAcquire(m.caller, int64(bytes))
	if ok {
		m.shares = append(m.shares, privateShare{bytes, release})
		m.held += bytes
	}
	return ok
}

// releaseLocked releases what is not needed.
func (m *privateMemory) releaseLocked(needed int) {
	for last := len(m.shares) - 1; last >= 0 && m.held-m.shares[last].bytes >= needed; last-- {
		m.held -= m.shares[last].bytes
		m.shares[last].release()
		m.shares = m.shares[:last]
	}
	if m.ended {
		m.held = 0
	}
}

func (m *privateMemory) tooMuch() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusRequestEntityTooLarge,
		Reason:  metav1.StatusReasonRequestEntityTooLarge,
		Details: &metav1.StatusDetails{RetryAfterSeconds: privateRetrySeconds},
		Message: fmt.Sprintf("%s are not cached for all callers, and what watches keep of them for one caller takes at most %d MiB, "+
			"for all callers %d MiB: narrow the watch by a namespace, a name or selectors, ask for metadata only, or close other watches",
			m.resource.Name, maxCallerPrivateBytes>>20, maxPrivateBytes>>20),
	}}
}

// boundedStore is a private cache that counts what it keeps.
type boundedStore struct {
	*Cache
	memory *privateMemory
}

var _ cache.ReflectorStore = boundedStore{}

// Add implements cache.ReflectorStore.
func (s boundedStore) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s boundedStore) Update(object any) error {
	if err := s.Cache.Update(object); err != nil {
		return err
	}
	return s.memory.settle(s.keptBytes(), false)
}

// Delete implements cache.ReflectorStore.
func (s boundedStore) Delete(object any) error {
	if err := s.Cache.Delete(object); err != nil {
		return err
	}
	return s.memory.settle(s.keptBytes(), false)
}

// Replace implements cache.ReflectorStore.
func (s boundedStore) Replace(items []any, version string) error {
	if err := s.Cache.Replace(items, version); err != nil {
		return err
	}
	return s.memory.settle(s.keptBytes(), true)
}

// keptBytes is about what the cache keeps. The objects of the window's changes are counted beside
// those of the store, although some are the same.
func (c *Cache) keptBytes() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.store.bytes + c.feed.window.bytes
}

// listOptions asks for a list of the latest in pages, and notes that it will be read.
func (m *privateMemory) listOptions(options metav1.ListOptions) metav1.ListOptions {
	options.Limit = privateListPage
	if options.Continue == "" {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
		m.beginSnapshot()
	}
	return options
}

// passes counts the object of an event, and reports whether there is memory for it.
func (m *privateMemory) passes(event watch.Event) bool {
	object, ok := event.Object.(*Object)
	return !ok || m.receive(object) == nil
}
