package informerhub

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"
)

// A reader that stops within its snapshot, or within latest states, retains a part of the objects
// in memory, and not all of them as of the beginning.
func TestSnapshotWalk_IdleReaderRetainsFewObjects(t *testing.T) {
	const objects = 200
	limits := defaultLimits(1)
	limits.partBytes = 10 * pod(t, "pod-1", 1).Size()
	begin := map[string]func(*scopeCache) *scopeWatcher{
		"a snapshot":    func(c *scopeCache) *scopeWatcher { return c.watch(selectFrom(t, c, Query{}), WatchOptions{}) },
		"latest states": func(c *scopeCache) *scopeWatcher { return resumed(t, c, Query{}, Position{Version: "1"}) },
	}
	for name, watch := range begin {
		t.Run(name, func(t *testing.T) {
			c := cacheWithin(pods, limits)
			must(t, c.Replace(nil, "1"))
			var old []weak.Pointer[byte]
			for i := range objects {
				object := pod(t, fmt.Sprint("pod-", i), 2+i)
				message, _ := object.Protobuf()
				old = append(old, weak.Make(&message[0]))
				must(t, c.Add(object))
			}
			w := watch(c)
			defer w.Close()
			batch, err := w.Next(t.Context())
			must(t, err)
			for i := range objects {
				must(t, c.Update(pod(t, fmt.Sprint("pod-", i), 1000+i)))
			}
			runtime.GC()
			alive := slices.DeleteFunc(old, func(raw weak.Pointer[byte]) bool { return raw.Value() == nil })
			if len(alive) == 0 || len(alive) > 20 {
				t.Errorf("%d of %d old objects are in memory, with a batch of %d events", len(alive), objects, len(batch.Events))
			}
			runtime.KeepAlive(batch)
			r := &reader{query: Query{}, watcher: w, cache: c}
			r.held, r.delivered, r.started = map[key]*Object{}, map[string]bool{}, name == "a snapshot"
			if name == "latest states" {
				r.resumed = true
			}
			r.take(t, batch)
			r.drain(t)
			checkSame(t, describeAll(listOf(t, c, w.selection).Objects, describeObject), r.holds())
		})
	}
}

func TestWatchOptions_DefaultsSendNoBookmarkAtOnce(t *testing.T) {
	c := syncedPods(t, 10)
	w := c.watch(selectFrom(t, c, Query{}), WatchOptions{})
	defer w.Close()
	nextLines(t, w)
	if batch, err := w.NextUntil(t.Context(), closed); err == nil {
		t.Errorf("returned %v at once", describeAll(batch.Events, describeEvent))
	}
}
