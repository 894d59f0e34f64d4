package auth

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// TestClientFactory_FollowsNoRedirect uses an API server that redirects every request to another
// host. The credentials must not reach it.
func TestClientFactory_FollowsNoRedirect(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			var arrived atomic.Int64
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
			defer other.Close()
			var redirected atomic.Int64
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				redirected.Add(1)
				http.Redirect(w, r, other.URL+"/steal", status)
			}))
			defer api.Close()
			factory, err := NewClientFactory(&rest.Config{Host: api.URL, BearerToken: "service"}, nil)
			must(t, err)
			callers := []Identity{{own: true}, {Username: "alice"}, {Username: "alice", token: func() string { return "alices" }}}
			for _, caller := range callers {
				clients := factory.For(caller)
				for _, err := range call(t, clients) {
					if err == nil {
						t.Error("a redirect is returned as a response")
					}
				}
				answer, err := clients.HTTP.Get(api.URL)
				must(t, err)
				must(t, answer.Body.Close())
			}
			if want := int64(3 * len(callers)); redirected.Load() != want || arrived.Load() != 0 {
				t.Errorf("%d requests were made, want %d; %d reached the other host", redirected.Load(), want, arrived.Load())
			}
		})
	}
}
