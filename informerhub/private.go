package informerhub

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// privateWindowBytes is WindowBytes for a private cache, which has one reader.
const privateWindowBytes = 1 << 20

// Private is a cache for a single stream, of a resource that must not be in a shared cache. It has
// only the objects that the stream's query selects, and ends with the stream.
type Private struct {
	*Cache
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

// PrivateConfig returns the configuration for clients of private caches: a copy of the hub's, with
// the hub's credentials, which a client replaces by those of its user. Its connections record when
// data arrives on them. [Cache.Freshness] of private caches depends on that.
func (h *Hub) PrivateConfig() *rest.Config { return rest.CopyConfig(h.privateConfig) }

// Private starts a private cache, and waits for its first snapshot. If the caller's memory is
// exhausted, Private fails, and watchers of the cache end, with a RequestEntityTooLarge error.
// Otherwise Private fails as [Hub.Cache] does. The cache ends with the context. Call End when done.
func (h *Hub) Private(ctx context.Context, resource Resource, options PrivateOptions) (*Private, error) {
	endTurn, err := h.privateLists.Acquire(ctx, options.Caller, 1)
	if err != nil {
		return nil, fmt.Errorf("waiting for a slot to list %s: %w", resource.Name, err)
	}
	defer endTurn()
	private, err := h.startPrivate(ctx, resource, options)
	if err != nil {
		return nil, err
	}
	if err := private.ready(ctx); err != nil {
		private.End()
		return nil, err
	}
	return private, nil
}

func (h *Hub) startPrivate(ctx context.Context, resource Resource, options PrivateOptions) (*Private, error) {
	client, err := h.clientFor(resource, options.Client, resource.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := checkSelectors(options.Query); err != nil {
		return nil, err
	}
	cache := newCache(resource, defaultLimits(privateWindowBytes), h.privateActivity)
	cache.isPrivate = true
	up := h.upstreamOf(cache, client)
	up.scope = scopeOf(options.Query)
	up.metadataOnly = options.MetadataOnly
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	private := &Private{Cache: cache, cancel: cancel, ended: make(chan struct{})}
	up.memory = &privateMemory{
		queue: h.privateBytes, caller: options.Caller, resource: resource,
		overflow: func(err error) {
			cache.end(err)
			cancel()
		},
	}
	h.private[private] = struct{}{}
	h.running.Add(1)
	go h.runPrivate(ctx, private, up)
	return private, nil
}

// runPrivate feeds one cache until its cancel is called. The hub owns the goroutine and waits for
// it by running.
func (h *Hub) runPrivate(ctx context.Context, private *Private, up *upstream) {
	defer h.running.Done()
	defer close(private.ended)
	up.run(ctx)
	up.memory.end()
	private.cancel()
	private.end(ErrClosed)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.private, private)
}
