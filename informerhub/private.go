package informerhub

import (
	"context"
	"fmt"
	"net/http"
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

// Private starts a cache of the objects that a query selects, with the permissions of the caller
// that the HTTP client acts as, and waits for its first snapshot. caller is the key of the caller:
// its private caches share slots for their first snapshots, and bounded memory. If memory is
// exhausted, Private fails, and watchers of the cache end, with a RequestEntityTooLarge error. With
// metadataOnly the cache contains only the objects' metadata, and the query must not read anything
// else. Otherwise Private fails as [Hub.Cache] does. The cache ends with the context. Call End when
// done.
func (h *Hub) Private(
	ctx context.Context, resource Resource, caller string, client *http.Client, query Query, metadataOnly bool,
) (*Private, error) {
	endTurn, err := h.privateLists.Acquire(ctx, caller, 1)
	if err != nil {
		return nil, fmt.Errorf("waiting for a slot to list %s: %w", resource.Name, err)
	}
	defer endTurn()
	private, err := h.startPrivate(ctx, resource, caller, client, query, metadataOnly)
	if err != nil {
		return nil, err
	}
	if err := private.ready(ctx); err != nil {
		private.End()
		return nil, err
	}
	return private, nil
}

func (h *Hub) startPrivate(
	ctx context.Context, resource Resource, caller string, client *http.Client, query Query, metadataOnly bool,
) (*Private, error) {
	rest, err := h.clientFor(resource, client, resource.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := checkSelectors(query); err != nil {
		return nil, err
	}
	cache := newCache(resource, defaultLimits(privateWindowBytes), h.callerActivity)
	up := h.upstreamOf(cache, rest)
	up.scope = scopeOf(query)
	up.metadataOnly = metadataOnly
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	private := &Private{Cache: cache, cancel: cancel, ended: make(chan struct{})}
	up.memory = &privateMemory{queue: h.privateBytes, caller: caller, resource: resource, overflow: func(err error) {
		cache.end(err)
		cancel()
	}}
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
