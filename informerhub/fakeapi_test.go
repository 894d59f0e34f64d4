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
	cache *Cache
	err   error
}

func ask(ctx context.Context, hub *Hub, resource Resource) <-chan asking {
	answered := make(chan asking, 1)
	go func() {
		cache, err := hub.Cache(ctx, resource)
		answered <- asking{cache, err}
	}()
	return answered
}
