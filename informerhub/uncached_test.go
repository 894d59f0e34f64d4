package informerhub

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

func TestUncached_ResourcesHaveNoCache(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	hub, err := New(api.Config(), Options{Uncached: []string{"pods"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	refused, err := hub.Resolver().Resolve(t.Context(), "po")
	if err != nil || !refused.Refused || refused.Cacheable() {
		t.Fatalf("resolved to %v (%v)", refused, err)
	}
	if _, err := hub.Cache(t.Context(), refused); err == nil {
		t.Error("the resource has a cache")
	}
	types, _, err := hub.Resolver().Types(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range types {
		if of.Refused != (of.Name == "pods") {
			t.Errorf("%s: refused %t", of.Name, of.Refused)
		}
	}
}
