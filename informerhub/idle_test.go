package informerhub

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

func TestHub_EndsIdleCaches(t *testing.T) {
	logged := captureLog(t)
	api := fakeapi.New(t, fakeapi.Core)
	hub, cache, upstream := syncedHub(t, api)
	watcher := longWatch(t, cache)
	expect(t, watcher, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")

	hub.mu.Lock()
	running := hub.caches[pods]
	hub.mu.Unlock()
	longAgo := func() {
		hub.mu.Lock()
		defer hub.mu.Unlock()
		running.lastUsed = time.Now().Add(-2 * defaultIdleTimeout)
	}

	longAgo()
	hub.endIdle(running)
	if hub.kept(pods) != running.Cache {
		t.Fatal("a watched cache has ended")
	}
	watcher.Close()
	hub.endIdle(running)
	if hub.kept(pods) != running.Cache {
		t.Fatal("a recently watched cache has ended")
	}
	longAgo()
	hub.endIdle(running)
	<-upstream.Request.Context().Done() // the API server's watch has ended too
	text := logged.take()
	for _, line := range []string{`msg="cache started" resource=pods.v1`, `msg="cache ended" resource=pods.v1 reason=unused`} {
		if !strings.Contains(text, line) {
			t.Errorf("not logged: %s", line)
		}
	}

	if got, want := hub.Totals(), (Totals{Started: 1, Unused: 1}); got != want {
		t.Errorf("the totals are %+v, want %+v", got, want)
	}

	answered := ask(t.Context(), hub, pods)
	api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("20"))
	if got := <-answered; got.err != nil || got.cache == cache {
		t.Errorf("the next caller gets %p, %v; it was %p", got.cache, got.err, cache)
	}
}

// kept returns the hub's cache of a resource without using it.
func (h *Hub) kept(resource Resource) *Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	if running, ok := h.caches[resource]; ok {
		return running.Cache
	}
	return nil
}
