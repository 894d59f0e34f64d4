package informerhub

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestHub_FollowsNoRedirect has an API server that redirects every request to another host, where
// the service's credentials must not arrive.
func TestHub_FollowsNoRedirect(t *testing.T) {
	var redirected, arrived atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer other.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		redirected.Add(1)
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer api.Close()
	hub := hubOf(t, &rest.Config{Host: api.URL, BearerToken: "service"})
	if _, err := hub.Resolver().Resolve(t.Context(), "pods"); err == nil {
		t.Error("a redirect was accepted as a response")
	}
	client, err := hub.clientFor(pods, hub.client, schema.GroupVersionKind{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Get().Resource("pods").Do(t.Context()).Error(); err == nil {
		t.Error("a redirect was accepted as a list")
	}
	if redirected.Load() < 2 || arrived.Load() != 0 {
		t.Errorf("%d requests were redirected, %d have arrived at the other host", redirected.Load(), arrived.Load())
	}
}
