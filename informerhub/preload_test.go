package informerhub

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// preloadingHub returns a hub that preloads resources, on a fake API server.
func preloadingHub(t *testing.T, api *fakeapi.Server, names ...string) *Hub {
	t.Helper()
	hub, err := New(api.Config(), Options{Preload: names})
	must(t, err)
	t.Cleanup(hub.Close)
	preloading := make(chan struct{})
	t.Cleanup(func() { <-preloading }) // the test's context has ended
	go func() {
		defer close(preloading)
		hub.Preload(t.Context())
	}()
	return hub
}

// preloaded blocks until a hub is warm.
func preloaded(t *testing.T, hub *Hub) {
	t.Helper()
	for hub.Warm() != nil {
		if !pause(t.Context(), time.Millisecond) {
			t.Fatal(hub.Warm())
		}
	}
}

func TestPreload_CacheIsNotEvictedWhenIdle(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := preloadingHub(t, api, "po")
	upstream := api.Next(t, "watch-list").Open()
	if err := hub.Warm(); err == nil || hub.HasSnapshot() {
		t.Errorf("without a snapshot: %v, %t", err, hub.HasSnapshot())
	}
	upstream.Send(t, watch.Bookmark, bookmarkAt("10"))
	preloaded(t, hub)

	hub.mu.Lock()
	running := hub.caches[reflected{resource: pods}]
	running.lastUsed = time.Now().Add(-2 * defaultIdleTimeout)
	hub.mu.Unlock()
	hub.endIdle(running)
	if hub.kept(pods) != running.cache || !hub.HasSnapshot() {
		t.Error("the cache has ended")
	}
}

func TestPreload_RestartsACacheThatHasEnded(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := preloadingHub(t, api, "pods")
	api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("10"))
	preloaded(t, hub)
	hub.mu.Lock()
	hub.endLocked(hub.caches[reflected{resource: pods}])
	hub.mu.Unlock()
	api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("20"))
	preloaded(t, hub)
}

func TestWarm_WaitsForSnapshotsButNotForBrokenResources(t *testing.T) {
	refused := &SnapshotError{Resource: pods, Err: apierrors.NewInternalError(errors.New("the conversion webhook is down"))}
	slow := &SnapshotError{Resource: pods, Err: errNoSnapshot}
	denied := &SnapshotError{Resource: pods, Err: apierrors.NewForbidden(pods.GroupResource(), "", nil)}
	unknown := &discovery.UnknownResourceError{Name: "b"}
	away := &discovery.UnavailableError{Err: errors.New("refused")}
	for name, test := range map[string]struct {
		a, b error // of the last attempt
		warm bool
	}{
		"both have a snapshot":                               {nil, nil, true},
		"the API server is unreachable":                      {away, away, false},
		"the API server becomes unreachable before the last": {nil, away, false},
		"one is slow":                            {nil, slow, false},
		"the cluster does not serve one":         {nil, unknown, true},
		"the cluster serves none":                {unknown, unknown, true},
		"the service may not list one":           {nil, denied, true},
		"the service may list nothing":           {denied, denied, false},
		"one is broken":                          {nil, refused, true},
		"one is not served, the other is broken": {refused, unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				hub := &Hub{preloads: newPreloads(nil, []string{"a", "b"})}
				for range 2 * preloadTimeout / preloadRetry {
					hub.preloads.record("a", test.a)
					hub.preloads.record("b", test.b)
					time.Sleep(preloadRetry)
				}
				if err := hub.Warm(); (err == nil) != test.warm {
					t.Errorf("Warm returned %v", err)
				}
			})
		})
	}
}

func TestWarm_WaitsForAResourceWithATemporaryError(t *testing.T) {
	hub := &Hub{preloads: newPreloads(nil, []string{"a", "b"})}
	hub.preloads.record("a", nil)
	hub.preloads.record("b", &SnapshotError{Resource: pods, Err: apierrors.NewTooManyRequestsError("storage is (re)initializing")})
	if hub.Warm() == nil {
		t.Error("Warm does not wait")
	}
	hub.preloads.record("b", nil)
	if err := hub.Warm(); err != nil {
		t.Error(err)
	}
	hub.preloads.record("b", errors.New("later"))
	if err := hub.Warm(); err != nil {
		t.Errorf("the hub was warm, and no longer is: %v", err)
	}
}
