package informerhub

import (
	"context"
	"errors"
	"testing"
	"time"
)

// in returns a pod of a namespace at a version.
func in(t *testing.T, namespace, name, version string) *Object {
	t.Helper()
	return podObject(t, traits{Namespace: namespace, Name: name, UID: "uid-" + namespace + name, Version: version})
}

// followingNamespaces returns a reader of some namespaces that has read the snapshot.
func followingNamespaces(t *testing.T, c *Cache, namespaces ...string) *reader {
	t.Helper()
	r := newReader(t, c, Query{Namespaces: namespaces})
	r.drain(t)
	return r
}

func TestRescope_DeliversTheDifferenceAtOneVersion(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(items(in(t, "a", "one", "1"), in(t, "b", "one", "2"), in(t, "c", "one", "3")), "5"))
	r := followingNamespaces(t, c, "a", "b")
	must(t, c.Update(in(t, "a", "one", "6")))
	must(t, c.Update(in(t, "b", "one", "7")))
	must(t, c.Add(in(t, "b", "unseen", "8")))
	must(t, c.Update(in(t, "c", "one", "9")))
	r.watcher.Rescope(selectFrom(t, c, Query{Namespaces: []string{"a", "c"}}))
	checkSame(t, []string{
		"MODIFIED a/one@6 at 6", // in both
		"DELETED b/one@9 at 9",  // held, and its last change is dropped; b/unseen was never held
		"ADDED c/one@9 at 9",
	}, r.drain(t))
	must(t, c.Update(in(t, "b", "one", "10")))
	must(t, c.Update(in(t, "c", "one", "11")))
	checkSame(t, []string{"MODIFIED c/one@11 at 11"}, r.drain(t))
}

func TestRescope_RemovedObjectsHaveNoContent(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(items(in(t, "a", "one", "1"), in(t, "b", "one", "2")), "5"))
	r := followingNamespaces(t, c, "a", "b")
	r.watcher.Rescope(selectFrom(t, c, Query{Namespaces: []string{"a"}}))
	batch, err := r.watcher.Next(t.Context())
	if err != nil || len(batch.Events) != 1 || batch.Events[0].Object.HasContent() {
		t.Errorf("got %+v, %v", batch.Events, err)
	}
}

func TestRescope_DeliversPendingDeletionsOnce(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(items(in(t, "b", "one", "2")), "5"))
	r := followingNamespaces(t, c, "a", "b")
	must(t, c.Delete(in(t, "b", "one", "6")))
	r.watcher.Rescope(selectFrom(t, c, Query{Namespaces: []string{"a"}}))
	checkSame(t, []string{"DELETED b/one@6 at 6"}, r.drain(t))
}

func TestRescope_SendsABookmarkWithoutADifference(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(items(in(t, "a", "one", "1")), "5"))
	r := followingNamespaces(t, c, "a")
	r.watcher.Rescope(selectFrom(t, c, Query{Namespaces: []string{"a", "empty"}}))
	checkSame(t, []string{"BOOKMARK at 5"}, r.drain(t))
}

func TestRescope_ResyncsIfOlderThanTheWindow(t *testing.T) {
	c := podCache(1)
	must(t, c.Replace(items(in(t, "a", "one", "1"), in(t, "b", "one", "2")), "5"))
	r := followingNamespaces(t, c, "a", "b")
	must(t, c.Update(in(t, "b", "one", "7")))
	r.watcher.Rescope(selectFrom(t, c, Query{Namespaces: []string{"a"}}))
	checkSame(t, []string{"RESET at 7", "ADDED a/one@1 at 1", "SYNCED at 7"}, r.drain(t))
}

func TestWatcher_InterruptedNextConsumesNothing(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(nil, "5"))
	r := followingNamespaces(t, c, "a")
	must(t, c.Add(in(t, "a", "one", "6")))
	if batch, err := r.watcher.NextUntil(t.Context(), closed); err != nil || len(batch.Events) != 1 {
		t.Fatalf("the pending events come first, not %+v, %v", batch.Events, err)
	}
	for range 3 {
		if _, err := r.watcher.NextUntil(t.Context(), closed); !errors.Is(err, ErrInterrupted) {
			t.Fatalf("error %v", err)
		}
	}
	must(t, c.Add(in(t, "a", "two", "7")))
	ended, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if batch, err := r.watcher.Next(ended); err != nil || len(batch.Events) != 1 || batch.Events[0].Object.Name() != "two" {
		t.Errorf("got %+v, %v", batch.Events, err)
	}
}
