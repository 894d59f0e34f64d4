package informerhub

import (
	"context"
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

// privateWindowBytes is WindowBytes for a private cache, which has one reader.
const privateWindowBytes = 1 << 20

// Private is a cache for a single stream, of a resource that must not be in a shared cache. It has
// only the objects that the stream's query selects, and ends with the stream.
type Private struct {
	*Cache
	scope  *scopeCache // its only one
	cancel context.CancelFunc
	ended  chan struct{}
}

// End ends the cache, and waits for it.
func (p *Private) End() {
	p.cancel()
	<-p.ended
}

// PrivateOptions are the settings of a private cache.
type PrivateOptions struct {
	// Client sends the cache's requests, with the permissions of one caller. It is made from
	// [Hub.PrivateConfig]; a cache with any other client counts as stale. Required.
	Client *http.Client
	// Caller identifies that caller. The private caches of a caller share slots for their first
	// snapshots, and bounded memory.
	Caller string
	// Query selects the objects of the cache.
	Query Query
	// MetadataOnly reads only the metadata of objects. The query must not select by anything else.
	MetadataOnly bool
}

const (
	// privatePart limits the objects of one caller's private caches to a quarter of Options.PrivateBytes.
	privatePart         = 4
	defaultPrivateBytes = 256 << 20
	// minPrivateBytes is the least that each private cache counts as.
	minPrivateBytes = 32 << 10
	// maxPrivateLists bounds the private caches that concurrently wait for their first snapshot,
	// and maxCallerPrivateLists those of one caller. Others wait for a slot.
	maxPrivateLists       = 64
	maxCallerPrivateLists = 4
	// privateRetrySeconds is the retry time when memory is exhausted. Clients retry by themselves,
	// and each time the API server sends the objects again.
	privateRetrySeconds = 30
	// privateListPage is the number of objects that are listed at a time. Their size is known only
	// after they were read.
	privateListPage = 100
)

func newPrivateBytes(total int) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: int64(total), PerKey: int64(total) / privatePart})
}

func newPrivateLists() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "other snapshots", Total: maxPrivateLists, PerKey: maxCallerPrivateLists, Waiting: math.MaxInt})
}

// privateMemory is the share of one private cache in the memory for all of them: for its objects,
// its window, and a snapshot that is being read. It is safe for concurrent use.
type privateMemory struct {
	queue    *fairqueue.Queue // set once, as the fields below
	caller   string
	resource Resource
	overflow func(error) // ends the cache

	mu       sync.Mutex // guards the fields below; taken before the queue's lock
	ended    bool
	reading  bool // a snapshot is being read
	incoming int  // bytes of the snapshot that is being read
	cached   int  // bytes of the cache
	acquired int
	shares   []privateShare
}

// privateShare is a part of a cache's memory. Later parts are larger.
type privateShare struct {
	bytes   int
	release func()
}

// beginSnapshot records that a snapshot will be read.
func (m *privateMemory) beginSnapshot() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading, m.incoming = true, 0
}

// receive counts objects that arrived from the API server. It returns an error, and ends the cache,
// if there is no memory for them.
func (m *privateMemory) receive(objects ...*Object) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.reading {
		return nil // counted when they are in the cache
	}
	for _, object := range objects {
		m.incoming += object.Size()
	}
	return m.holdLocked()
}

// settle counts the content of the cache. If replaced is set, it contains the snapshot that was
// being read.
func (m *privateMemory) settle(cached int, replaced bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cached = cached; replaced {
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

// holdLocked acquires as much memory as is needed: not much more, and not less unless it fails.
func (m *privateMemory) holdLocked() error {
	needed := max(m.cached+m.incoming, minPrivateBytes)
	for m.acquired < needed && !m.ended {
		if !m.growLocked(max(minPrivateBytes, m.acquired/4)) && !m.growLocked(needed-m.acquired) {
			err := m.limitError()
			m.overflow(err)
			return err
		}
	}
	m.releaseLocked(needed)
	return nil
}

// growLocked reports whether it could acquire bytes more.
func (m *privateMemory) growLocked(bytes int) bool {
	release, ok := m.queue.TryAcquire(m.caller, int64(bytes))
	if ok {
		m.shares = append(m.shares, privateShare{bytes, release})
		m.acquired += bytes
	}
	return ok
}

// releaseLocked releases the memory that is not needed.
func (m *privateMemory) releaseLocked(needed int) {
	for last := len(m.shares) - 1; last >= 0 && m.acquired-m.shares[last].bytes >= needed; last-- {
		m.acquired -= m.shares[last].bytes
		m.shares[last].release()
		m.shares = m.shares[:last]
	}
	if m.ended {
		m.acquired = 0
	}
}

func (m *privateMemory) limitError() error {
	total := m.queue.Use().Capacity
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusRequestEntityTooLarge,
		Reason:  metav1.StatusReasonRequestEntityTooLarge,
		Details: &metav1.StatusDetails{RetryAfterSeconds: privateRetrySeconds},
		Message: fmt.Sprintf("%s are not cached for all callers, and watches may cache at most %d MiB of them "+
			"for one caller and %d MiB for all callers: narrow the watch by a namespace, a name or selectors, "+
			"request metadata only, or close other watches",
			m.resource.Name, (total/privatePart)>>20, total>>20),
	}}
}

// boundedStore is a private cache that counts its content.
type boundedStore struct {
	*scopeCache
	memory *privateMemory
}

var _ cache.ReflectorStore = boundedStore{}

// Add implements cache.ReflectorStore.
func (s boundedStore) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s boundedStore) Update(object any) error {
	if err := s.scopeCache.Update(object); err != nil {
		return err
	}
	return s.memory.settle(s.retainedBytes(), false)
}

// Delete implements cache.ReflectorStore.
func (s boundedStore) Delete(object any) error {
	if err := s.scopeCache.Delete(object); err != nil {
		return err
	}
	return s.memory.settle(s.retainedBytes(), false)
}

// Replace implements cache.ReflectorStore.
func (s boundedStore) Replace(items []any, version string) error {
	if err := s.scopeCache.Replace(items, version); err != nil {
		return err
	}
	return s.memory.settle(s.retainedBytes(), true)
}

// listOptions requests a list of the latest state in pages, and records that it will be read.
func (m *privateMemory) listOptions(options metav1.ListOptions) metav1.ListOptions {
	options.Limit = privateListPage
	if options.Continue == "" {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
		m.beginSnapshot()
	}
	return options
}

// admit counts the object of an event, and reports whether there is memory for it.
func (m *privateMemory) admit(event watch.Event) bool {
	object, ok := event.Object.(*Object)
	return !ok || m.receive(object) == nil
}
