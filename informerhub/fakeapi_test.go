package informerhub

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"
)

// hubOf returns a hub on a fake API server.
func hubOf(t *testing.T, config *rest.Config) *Hub {
	t.Helper()
	hub, err := New(config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return hub
}

// asking is the result of a call of Hub.Cache.
type asking struct {
	cache *scopeCache
	err   error
}

func ask(ctx context.Context, hub *Hub, resource Resource) <-chan asking {
	answered := make(chan asking, 1)
	go func() {
		cache, err := hub.Cache(ctx, resource)
		answered <- asking{onlyScope(cache), err}
	}()
	return answered
}

// onlyScope returns the only scope of a cache; nil for nil.
func onlyScope(cache *Cache) *scopeCache {
	if cache == nil {
		return nil
	}
	return cache.scopes[0]
}
