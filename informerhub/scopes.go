package informerhub

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Scopes decides which namespaces of a resource are cached, such as those in which the service may list it. Its methods are
// safe for concurrent use.
type Scopes interface {
	// Namespaces returns the namespaces of a resource that are cached, each by a Reflector of its own, in order. Nil is the whole
	// resource, by one Reflector, and empty is nothing. A decision that is known is returned without a request.
	Namespaces(ctx context.Context, resource Resource) ([]string, error)
	// Denied reports that the API server has denied the service to list or watch a resource that is cached.
	Denied(resource Resource)
	// Changed returns a channel that is closed when decisions have changed.
	Changed() <-chan struct{}
}

// Namespaces returns the namespaces of a resource that are cached one by one, in order; nil if the resource is cached as a
// whole, and empty if it is not cached.
func (h *Hub) Namespaces(ctx context.Context, resource Resource) ([]string, error) {
	if h.options.Scopes == nil {
		return nil, nil
	}
	return h.options.Scopes.Namespaces(ctx, resource)
}

// ScopesChanged returns a channel that is closed when the results of Namespaces have changed; nil if they never do.
func (h *Hub) ScopesChanged() <-chan struct{} {
	if h.options.Scopes == nil {
		return nil
	}
	return h.options.Scopes.Changed()
}

// errNotAllowed is the reason why a resource is not cached at all.
var errNotAllowed = errors.New("the service may not list it in any namespace")

// namesToCache returns the requested ones of the namespaces that are cached; nil is the whole resource, or no request.
func namesToCache(resource Resource, cached, requested []string) ([]string, error) {
	switch {
	case cached == nil:
		return nil, nil
	case len(cached) == 0:
		return nil, &SnapshotError{Resource: resource, Err: apierrors.NewForbidden(resource.GroupResource(), "", errNotAllowed)}
	case requested == nil:
		return cached, nil
	}
	names := slices.Compact(slices.Sorted(slices.Values(requested)))
	for _, name := range names {
		if _, found := slices.BinarySearch(cached, name); !found {
			return nil, &ScopeError{resource, name}
		}
	}
	if len(names) == 0 {
		return cached[:1], nil // nothing is selected in it
	}
	return names, nil
}

// scopeGrace is the time for which the cache of a namespace that is no longer cached continues, so that its streams can
// switch to what the service caches now.
const scopeGrace = 2 * time.Second

// FollowScopes ends the caches of namespaces that are no longer cached, until the context ends. It blocks until then.
func (h *Hub) FollowScopes(ctx context.Context) {
	for h.options.Scopes != nil && ctx.Err() == nil {
		changed := h.options.Scopes.Changed()
		h.endOutside(ctx)
		select {
		case <-changed:
			pause(ctx, scopeGrace)
		case <-ctx.Done():
		}
	}
}

// endOutside ends the caches of what is not to be cached.
func (h *Hub) endOutside(ctx context.Context) {
	shared, _ := h.runningCaches()
	for _, cache := range shared {
		names, err := h.Namespaces(ctx, cache.resource)
		if err != nil || (names == nil) == (cache.namespace == "") && (names == nil || slices.Contains(names, cache.namespace)) {
			continue
		}
		cache.logEnd("outside of the namespaces that the service caches")
		cache.end(&ScopeError{cache.resource, cache.namespace})
		h.mu.Lock()
		for _, running := range h.caches {
			if running.cache == cache {
				h.endLocked(running)
			}
		}
		h.mu.Unlock()
	}
}
