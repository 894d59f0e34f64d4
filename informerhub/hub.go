package informerhub

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// Options are the settings of a hub. The zero value is a good one.
type Options struct {
	// KeepManagedFields keeps metadata.managedFields, which is about half of an
	// object, in memory and in what is served.
	KeepManagedFields bool
	// WindowBytes bounds the objects that the feed of one resource holds on to,
	// before and after each change. Default: 16 MiB.
	WindowBytes int
}

const defaultWindowBytes = 16 << 20

// Hub owns the caches of a cluster's resources. Its methods are safe for
// concurrent use.
type Hub struct {
	config   *rest.Config
	client   *http.Client
	contact  *contact
	options  Options
	resolver *Resolver

	stop    chan struct{} // closed by Close
	running sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	closed bool
	caches map[Resource]*Cache
}

// New makes a hub that reads through a client configuration, with the rights of
// that. It does not connect before it is asked for something. Call Close when
// done.
func New(config *rest.Config, options Options) (*Hub, error) {
	config = rest.CopyConfig(config)
	contact := &contact{}
	contact.observe(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	resolver, err := newResolver(config, client)
	if err != nil {
		return nil, err
	}
	if options.WindowBytes == 0 {
		options.WindowBytes = defaultWindowBytes
	}
	return &Hub{
		config:   config,
		client:   client,
		contact:  contact,
		options:  options,
		resolver: resolver,
		stop:     make(chan struct{}),
		caches:   make(map[Resource]*Cache),
	}, nil
}

// ErrClosed says that the hub has been closed.
var ErrClosed = errors.New("the hub has been closed")

// Close ends all caches, and with them their watchers, and waits for them.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.stop)
	}
	h.mu.Unlock()
	h.running.Wait()
	h.resolver.close()
	h.client.CloseIdleConnections()
}

// Resolver finds resources by the names that callers use.
func (h *Hub) Resolver() *Resolver { return h.resolver }

// Cache answers the cache of a resource, ready to be read. The first call for a
// resource starts it and waits for its first snapshot; it fails with an
// [UnavailableError] while the API server cannot be reached, or with the API
// server's own error if it refuses.
func (h *Hub) Cache(ctx context.Context, resource Resource) (*Cache, error) {
	cache, err := h.started(resource)
	if err != nil {
		return nil, err
	}
	return cache, cache.ready(ctx)
}

func (h *Hub) started(resource Resource) (*Cache, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cache, ok := h.caches[resource]; ok {
		return cache, nil
	}
	if h.closed {
		return nil, ErrClosed
	}
	client, err := h.clientFor(resource)
	if err != nil {
		return nil, err
	}
	cache := newCache(resource, h.options.WindowBytes, h.contact)
	up := &upstream{client: client, cache: cache, served: h.resolver.serves(resource)}
	cache.selectableFields = newSelectableFields(resource, up.supports)
	cache.history = up.deletions
	h.caches[resource] = cache
	h.running.Add(1)
	go h.run(up)
	return cache, nil
}

// run keeps one cache; it is owned by the hub, ended by stop and waited for by
// running.
func (h *Hub) run(up *upstream) {
	defer h.running.Done()
	up.run(wait.ContextForChannel(h.stop))
	up.cache.end(ErrClosed)
	h.forget(up.cache)
}

// forget makes room for a new cache of the same resource.
func (h *Hub) forget(cache *Cache) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.caches, cache.resource)
}

// clientFor makes a REST client that answers Objects of a resource.
func (h *Hub) clientFor(resource Resource) (rest.Interface, error) {
	kind := resource.GroupVersionKind()
	groupVersion := resource.GroupVersion()
	config := rest.CopyConfig(h.config)
	config.GroupVersion = &groupVersion
	config.APIPath = "/apis"
	if resource.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = &codec{kind: kind, keepManagedFields: h.options.KeepManagedFields}
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	if resource.BuiltIn() {
		config.AcceptContentTypes = strings.Join([]string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}, ",")
	}
	config.QPS = -1 // the Reflector paces itself
	return rest.RESTClientForConfigAndClient(config, h.client)
}
