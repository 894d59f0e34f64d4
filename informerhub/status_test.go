package informerhub

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

func TestHub_StatusDescribesItsCaches(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub, cache, _ := syncedHub(t, api)
	want := Status{Resource: pods, Synced: true, Version: "10", Objects: 1, Changes: 1, Bytes: podOf(t, cache, "a").Size()}
	wantStatus(t, hub, want)
	one, other := longWatch(t, cache), cache.Watch(selectFrom(t, cache, Query{Namespace: "default"}), WatchOptions{Bookmarks: time.Hour})
	for _, watcher := range []*Watcher{one, other} {
		nextLines(t, watcher)
	}
	want.Watchers, want.Beginnings.Snapshots = 2, 2
	wantStatus(t, hub, want)
	one.Close()
	want.Watchers = 1
	wantStatus(t, hub, want)
	other.Close()
	must(t, cache.Replace(items(pod(t, "a", 3), pod(t, "b", 20)), "30"))
	want.Watchers, want.Changes, want.Relists, want.Objects, want.Version = 0, 2, 1, 2, "30"
	want.Bytes = podOf(t, cache, "a").Size() + podOf(t, cache, "b").Size()
	wantStatus(t, hub, want)
}

// TestHub_StatusHasTheReachOfTheWindow makes more changes than the window holds.
func TestHub_StatusHasTheReachOfTheWindow(t *testing.T) {
	began := time.Now().Truncate(time.Second)
	hub, cache, _ := syncedHub(t, fakeapi.New(t, fakeapi.Core))
	if since := hub.Status()[0].WindowSince; since.Before(began) || since.After(time.Now()) {
		t.Errorf("since %v, before any change", since)
	}
	cache.feed.window.limit = 1
	must(t, cache.Update(pod(t, "a", 20)))
	before := time.Now()
	must(t, cache.Update(pod(t, "a", 21)))
	if since := hub.Status()[0].WindowSince; since.Before(before) || since.After(time.Now()) {
		t.Errorf("since %v, want after %v", since, before)
	}
}

// wantStatus compares everything except the times of the one cache.
func wantStatus(t *testing.T, hub *Hub, want Status) {
	t.Helper()
	all := hub.Status()
	for i := range all {
		if all[i].Stale || all[i].LastContact.IsZero() {
			t.Errorf("the freshness is %+v", all[i].Freshness)
		}
		all[i].Freshness, all[i].WindowSince = Freshness{}, time.Time{}
	}
	if diff := cmp.Diff([]Status{want}, all); diff != "" {
		t.Error(diff)
	}
}

func podOf(t *testing.T, c *Cache, name string) *Object {
	t.Helper()
	object, err := c.Get("default", name)
	must(t, err)
	return object
}

func TestHub_StatusIsEmptyWithoutCaches(t *testing.T) {
	hub := hubOf(t, fakeapi.New(t, fakeapi.Core).Config())
	if all := hub.Status(); len(all) != 0 {
		t.Errorf("the status is %v", all)
	}
}

func TestStatus_IsNotSyncedWithoutASnapshot(t *testing.T) {
	if state := podCache(1 << 20).status(); state.Synced || state.Relists != 0 {
		t.Errorf("the status is %+v", state)
	}
}
