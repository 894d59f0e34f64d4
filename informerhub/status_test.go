package informerhub

import (
	"bytes"
	"log/slog"
	"sync"
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
	one, other := longWatch(t, cache), cache.watch(selectFrom(t, cache, Query{Namespace: "default"}), WatchOptions{Bookmarks: time.Hour})
	for _, watcher := range []*scopeWatcher{one, other} {
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

func podOf(t *testing.T, c *scopeCache, name string) *Object {
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

func TestBeginnings_AreCountedByHowWatchesContinue(t *testing.T) {
	c := podCache(1) // an empty window
	must(t, c.Replace(items(pod(t, "a", 3)), "10"))
	must(t, c.Update(pod(t, "a", 11)))
	wide := syncedPods(t, 10, pod(t, "a", 3))
	must(t, wide.Update(pod(t, "a", 11)))
	must(t, wide.Update(pod(t, "a", 12)))
	restored := syncedPods(t, 10, pod(t, "a", 3))
	undone := restored.feed.position(time.Now())
	must(t, restored.Replace(items(pod(t, "a", 2)), "5")) // from a backup
	must(t, restored.Update(pod(t, "a", 11)))
	for _, test := range []struct {
		name  string
		cache *scopeCache
		since *Position
		want  Beginnings
	}{
		{"without a position", c, nil, Beginnings{Snapshots: 1}},
		{"within the window", wide, &Position{Version: "11"}, Beginnings{Resumed: 1}},
		{"before the window", c, &Position{Version: "10"}, Beginnings{LatestStates: 1}},
		{"in an undone history", restored, &undone, Beginnings{Resets: 1}},
	} {
		before := test.cache.beginnings.numbers()
		w := test.cache.watch(selectFrom(t, test.cache, Query{}), WatchOptions{Bookmarks: time.Hour, Since: test.since, SinceTimeout: time.Second})
		nextLines(t, w)
		w.Close()
		after := test.cache.beginnings.numbers()
		got := Beginnings{
			after.Snapshots - before.Snapshots, after.Resumed - before.Resumed,
			after.LatestStates - before.LatestStates, after.Resets - before.Resets,
		}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestBeginnings_OpenWatchesThatCannotContinueAreResets(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	w := c.watch(selectFrom(t, c, Query{}), WatchOptions{Bookmarks: time.Hour})
	defer w.Close()
	nextLines(t, w)
	must(t, c.Replace(items(pod(t, "a", 2)), "5")) // from a backup
	nextLines(t, w)
	if got, want := c.beginnings.numbers(), (Beginnings{Snapshots: 1, Resets: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// logText is what is logged during a test, at the level info.
type logText struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func captureLog(t *testing.T) *logText {
	t.Helper()
	logged, before := &logText{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(logged, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return logged
}

// Write implements io.Writer.
func (l *logText) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// take returns the lines since the last call.
func (l *logText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}
