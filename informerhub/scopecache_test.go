package informerhub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// syncedPods returns a cache that has received its first snapshot.
func syncedPods(t tester, version int, objects ...*Object) *scopeCache {
	t.Helper()
	c := podCache(1 << 20)
	must(t, c.Replace(items(objects...), fmt.Sprint(version)))
	return c
}

// TestWatcher_DeliversTransitionsOfItsSelection begins with the pods a (in app web, on node-1) and
// b at version 10.
func TestWatcher_DeliversTransitionsOfItsSelection(t *testing.T) {
	a := traits{Namespace: "default", Name: "a", UID: "uid-a", Version: "3", Labels: map[string]string{"app": "web"}, Node: "node-1"}
	changed := func(change func(*traits)) traits { to := a; change(&to); return to }
	for name, test := range map[string]struct {
		query  Query
		change func(t *testing.T, c *scopeCache)
		want   []string
	}{
		"an object that is created": {
			change: func(t *testing.T, c *scopeCache) { must(t, c.Add(pod(t, "c", 11))) },
			want:   []string{"ADDED default/c@11 at 11"},
		},
		"an object that is changed": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Update(podObject(t, changed(func(to *traits) { to.Version = "11" }))))
			},
			want: []string{"MODIFIED default/a@11 at 11"},
		},
		"an object that is deleted, at the version of the deletion": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Delete(podObject(t, changed(func(to *traits) { to.Version = "11" }))))
			},
			want: []string{"DELETED default/a@3 at 11"},
		},
		"an object that was deleted and recreated": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Update(podObject(t, changed(func(to *traits) { to.UID, to.Version = "other", "12" }))))
			},
			want: []string{"DELETED default/a@3 at 12", "ADDED default/a@12 at 12"},
		},
		"an object that leaves by a label, with its old content": {
			query: Query{LabelSelector: "app=web"},
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Update(podObject(t, changed(func(to *traits) { to.Labels, to.Version = nil, "11" }))))
			},
			want: []string{"DELETED default/a@3 at 11"},
		},
		"an object that enters by a label": {
			query: Query{LabelSelector: "app=db"},
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Update(podObject(t, changed(func(to *traits) { to.Labels, to.Version = map[string]string{"app": "db"}, "11" }))))
			},
			want: []string{"ADDED default/a@11 at 11"},
		},
		"an object that leaves by a field": {
			query: Query{FieldSelector: "spec.nodeName=node-1"},
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Update(podObject(t, changed(func(to *traits) { to.Node, to.Version = "node-2", "11" }))))
			},
			want: []string{"DELETED default/a@3 at 11"},
		},
		"a deletion outside the selection": {
			query:  Query{LabelSelector: "app=web"},
			change: func(t *testing.T, c *scopeCache) { must(t, c.Delete(pod(t, "b", 11))) },
		},
		"a deletion of a missing object": {
			change: func(t *testing.T, c *scopeCache) { must(t, c.Delete(pod(t, "x", 11))) },
		},
		"the same state once more": {
			change: func(t *testing.T, c *scopeCache) { must(t, c.Update(podObject(t, a))) },
		},
		"an object without a name, which could not be read": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Update(podObject(t, traits{Version: "11"})))
			},
		},
		"a relist that finds nothing new": {
			change: func(t *testing.T, c *scopeCache) { must(t, c.Replace(items(pod(t, "b", 4), podObject(t, a)), "20")) },
		},
		"a relist, in the order of versions": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Replace(items(pod(t, "d", 9+3), pod(t, "c", 15), pod(t, "b", 14)), "20"))
			},
			want: []string{
				"ADDED default/d@12 at 12", "MODIFIED default/b@14 at 14", "ADDED default/c@15 at 15", "DELETED default/a@3 at 20",
			},
		},
		"a relist after a deletion and another of its name": {
			change: func(t *testing.T, c *scopeCache) {
				other := changed(func(to *traits) { to.UID, to.Version = "other", "15" })
				must(t, c.Replace(items(podObject(t, other), pod(t, "b", 16)), "16"))
			},
			want: []string{"DELETED default/a@3 at 15", "ADDED default/a@15 at 15", "MODIFIED default/b@16 at 16"},
		},
		"a relist that finds another content at the same version": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Replace(items(podObject(t, changed(func(to *traits) { to.Node = "node-2" })), pod(t, "b", 14)), "20"))
			},
			want: []string{"MODIFIED default/b@14 at 14", "MODIFIED default/a@3 at 20"},
		},
		"a relist that finds another content, by which an object leaves": {
			query: Query{FieldSelector: "spec.nodeName=node-1"},
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Replace(items(podObject(t, changed(func(to *traits) { to.Node = "node-2" })), pod(t, "b", 4)), "20"))
			},
			want: []string{"DELETED default/a@3 at 20"},
		},
		"a relist that finds another content, by which an object enters": {
			query: Query{FieldSelector: "spec.nodeName=node-2"},
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Replace(items(podObject(t, changed(func(to *traits) { to.Node = "node-2" })), pod(t, "b", 4)), "20"))
			},
			want: []string{"ADDED default/a@3 at 20"},
		},
		"a relist that finds another content at the feed's version": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Replace(items(podObject(t, changed(func(to *traits) { to.Node = "node-2" })), pod(t, "b", 4)), "10"))
			},
			want: []string{"RESET at 10", "ADDED default/a@3 at 3", "ADDED default/b@4 at 4", "SYNCED at 10"},
		},
		"an event that repeats a version with another content": {
			change: func(t *testing.T, c *scopeCache) {
				must(t, c.Update(podObject(t, changed(func(to *traits) { to.Node = "node-2" }))))
			},
		},
		"a relist at a lower version: a restored cluster": {
			change: func(t *testing.T, c *scopeCache) { must(t, c.Replace(items(pod(t, "b", 4)), "9")) },
			want:   []string{"RESET at 9", "ADDED default/b@4 at 4", "SYNCED at 9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := syncedPods(t, 10, podObject(t, a), pod(t, "b", 4))
			r := newReader(t, c, test.query)
			r.drain(t)
			r.rewritten = strings.Contains(name, "another content")
			test.change(t, c)
			checkSame(t, test.want, r.drain(t))
		})
	}
}

func TestWatcher_FirstBatchIsTheSelectionInOrder(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "b", 4), pod(t, "a", 3))
	checkSame(t, []string{"RESET at 10", "ADDED default/a@3 at 3", "ADDED default/b@4 at 4", "SYNCED at 10"}, newReader(t, c, Query{}).drain(t))
	checkSame(t, []string{"RESET at 10", "SYNCED at 10"}, newReader(t, c, Query{Name: "none"}).drain(t))
}

func TestLatestStates_SentOnlyToReadersBehindTheWindow(t *testing.T) {
	c := podCache(10 * pod(t, "a", 1).Size())
	must(t, c.Replace(items(pod(t, "a", 1)), "1"))
	slow, fast := newReader(t, c, Query{}), newReader(t, c, Query{})
	slow.drain(t)
	fast.drain(t)
	for version := 2; version < 100; version++ {
		must(t, c.Update(pod(t, "a", version)))
		checkSame(t, []string{fmt.Sprintf("MODIFIED default/a@%d at %[1]d", version)}, fast.drain(t))
	}
	checkSame(t, []string{"MODIFIED default/a@99 at 99"}, slow.drain(t))
	must(t, c.Update(pod(t, "a", 100)))
	checkSame(t, []string{"MODIFIED default/a@100 at 100"}, slow.drain(t))
	if fast.resets != 1 {
		t.Errorf("the fast reader received %d RESETs", fast.resets)
	}
}

func TestWatcher_CatchesUpInBatches(t *testing.T) {
	c := podCache(1 << 30)
	must(t, c.Replace(nil, "1"))
	r := newReader(t, c, Query{})
	r.drain(t)
	all := 3 * c.feed.limits.batch
	for version := range all {
		must(t, c.Update(pod(t, fmt.Sprint("pod-", version), 10+version)))
	}
	if lines := r.drain(t); len(lines) != all || len(r.held) != all {
		t.Errorf("received %d changes", len(lines))
	}
}

func TestWindow_IsBoundedInBytes(t *testing.T) {
	one := pod(t, "a", 10).Size()
	c := podCache(10 * one)
	must(t, c.Replace(nil, "1"))
	for version := 10; version < 99; version++ {
		must(t, c.Update(pod(t, "a", version)))
		if c.feed.window.bytes > 10*one || len(c.feed.window.changes) > 10 {
			t.Fatalf("the window has %d changes of %d bytes, with a limit of %d", len(c.feed.window.changes), c.feed.window.bytes, 10*one)
		}
	}
	size := 0
	for _, change := range c.feed.window.changes {
		size += change.size()
	}
	if size != c.feed.window.bytes {
		t.Errorf("counted %d bytes of %d", c.feed.window.bytes, size)
	}
}

func TestWindow_DeliversChangesLargerThanItself(t *testing.T) {
	c := podCache(1)
	must(t, c.Replace(nil, "1"))
	r := newReader(t, c, Query{})
	r.drain(t)
	must(t, c.Add(pod(t, "a", 2)))
	checkSame(t, []string{"ADDED default/a@2 at 2"}, r.drain(t))
}

func TestCache_DeliversPendingEventsBeforeItsEnd(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	current, late := newReader(t, c, Query{}), newReader(t, c, Query{})
	current.drain(t)
	must(t, c.Update(pod(t, "b", 11)))
	gone := &discovery.ResourceGoneError{Resource: pods}
	c.end(gone)
	c.end(errors.New("another reason"))

	lines, err := current.rest(t)
	if !errors.Is(err, gone) {
		t.Errorf("the watch ended with %v", err)
	}
	checkSame(t, []string{"ADDED default/b@11 at 11"}, lines)
	if lines, err := late.rest(t); !errors.Is(err, gone) || len(lines) < 2 {
		t.Errorf("a late reader received %v, %v", lines, err)
	}
	if err := c.ready(t.Context()); !errors.Is(err, gone) {
		t.Errorf("Ready returned %v", err)
	}
}

func TestCache_GetReturnsTheObjectOrNotFound(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	if object, err := c.Get("default", "a"); err != nil || object.ResourceVersion() != "3" {
		t.Errorf("got %v, %v", object, err)
	}
	for _, place := range []key{{"default", "b"}, {"other", "a"}, {"", "a"}, {"default", ""}} {
		if _, err := c.Get(place.namespace, place.name); !apierrors.IsNotFound(err) {
			t.Errorf("%v: error %v", place, err)
		}
	}
}

func TestReady_ReturnsTheStateOfTheCache(t *testing.T) {
	failure := &discovery.UnavailableError{Host: "here", Err: errors.New("refused")}
	for name, test := range map[string]struct {
		history func(*scopeCache)
		want    error
	}{
		"nothing yet":                         {func(*scopeCache) {}, context.Canceled},
		"the first attempt has failed":        {func(c *scopeCache) { c.recordFailure(failure) }, failure},
		"it was reached after a failure":      {func(c *scopeCache) { c.recordFailure(failure); c.recordSuccess() }, context.Canceled},
		"a snapshot is there":                 {func(c *scopeCache) { _ = c.Replace(nil, "1") }, nil},
		"a failure after the first snapshot":  {func(c *scopeCache) { _ = c.Replace(nil, "1"); c.recordFailure(failure) }, nil},
		"it has ended":                        {func(c *scopeCache) { _ = c.Replace(nil, "1"); c.end(ErrClosed) }, ErrClosed},
		"it has ended before it had anything": {func(c *scopeCache) { c.recordFailure(failure); c.end(ErrClosed) }, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c := podCache(1)
			test.history(c)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.ready(ctx); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestCache_DeletesObjectsAfterARelist(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	must(t, c.Replace(items(pod(t, "a", 12)), "12"))
	must(t, c.Delete(pod(t, "a", 13)))
	if list := listOf(t, c, selectFrom(t, c, Query{})); len(list.Objects) != 0 || list.ResourceVersion != "13" {
		t.Errorf("listed %v at %s", names(list.Objects), list.ResourceVersion)
	}
}

// TestCache_ListThatUndoesChangesBeginsAnEpoch restores a backup from before version 20 into an
// API server whose versions continue after it. Each kind of undone change shows in an object with a
// version older than the cache's.
func TestCache_ListThatUndoesChangesBeginsAnEpoch(t *testing.T) {
	recreated := func(t *testing.T, version int) *Object {
		return podObject(t, traits{Namespace: "default", Name: "a", UID: "uid-of-another", Version: fmt.Sprint(version)})
	}
	for name, test := range map[string]struct {
		before, restored []*Object
		undone           bool
	}{
		"a change":                             {[]*Object{pod(t, "a", 20)}, []*Object{pod(t, "a", 3)}, true},
		"a deletion":                           {nil, []*Object{pod(t, "a", 3)}, true},
		"a recreation":                         {[]*Object{recreated(t, 20)}, []*Object{pod(t, "a", 3)}, true},
		"a creation, which becomes a deletion": {[]*Object{pod(t, "a", 20)}, nil, false},
		"nothing":                              {[]*Object{pod(t, "a", 20)}, []*Object{pod(t, "a", 20)}, false},
		"a change, and one after the restore":  {[]*Object{pod(t, "a", 20)}, []*Object{pod(t, "a", 1001)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				c := syncedPods(t, 10, pod(t, "kept", 2))
				for _, object := range test.before {
					must(t, c.Update(object))
				}
				must(t, c.Bookmark("20"))
				w := startedWatcher(t, c, Query{})
				defer w.Close()
				position := c.feed.position(time.Now())
				must(t, c.Replace(items(append(test.restored, pod(t, "kept", 2))...), "1001"))

				open, err := w.Next(t.Context())
				if err != nil || (open.Events[0].Type == Reset) != test.undone {
					t.Errorf("the open stream received %v, %v", describeAll(open.Events, describeEvent), err)
				}
				resumed := c.watch(selectFrom(t, c, Query{}), WatchOptions{Bookmarks: interval, Since: &position})
				defer resumed.Close()
				back, err := resumed.Next(t.Context())
				if err != nil || (back.Events[0].Type == Reset) != test.undone {
					t.Errorf("an earlier position received %v, %v", describeAll(back.Events, describeEvent), err)
				}
			})
		})
	}
}

func TestCache_RevisionDiffersAfterEveryChange(t *testing.T) {
	renamed := func(t *testing.T) *Object {
		return podObject(t, traits{Namespace: "default", Name: "a", UID: "uid-a", Version: "3", Node: "other"})
	}
	for name, change := range map[string]func(*testing.T, *scopeCache) error{
		"a creation": func(t *testing.T, c *scopeCache) error { return c.Add(pod(t, "c", 11)) },
		"an update":  func(t *testing.T, c *scopeCache) error { return c.Update(pod(t, "a", 11)) },
		"a deletion": func(t *testing.T, c *scopeCache) error { return c.Delete(pod(t, "b", 11)) },
		"a bookmark": func(_ *testing.T, c *scopeCache) error { return c.Bookmark("11") },
		"a recreation": func(t *testing.T, c *scopeCache) error {
			return c.Update(podObject(t, traits{Namespace: "default", Name: "a", UID: "other", Version: "11"}))
		},
		"a relist that finds a deletion": func(t *testing.T, c *scopeCache) error {
			return c.Replace(items(pod(t, "a", 3)), "11")
		},
		"a relist that finds a deletion at the same version": func(t *testing.T, c *scopeCache) error {
			return c.Replace(items(pod(t, "a", 3)), "10")
		},
		"a relist that finds another content at the same version": func(t *testing.T, c *scopeCache) error {
			return c.Replace(items(renamed(t), pod(t, "b", 4)), "10")
		},
		"an older list, of a restored backup":     func(t *testing.T, c *scopeCache) error { return c.Replace(items(pod(t, "a", 3)), "5") },
		"a history without objects that restarts": func(_ *testing.T, c *scopeCache) error { return c.Replace(nil, "5") },
	} {
		t.Run(name, func(t *testing.T) {
			c := syncedPods(t, 10, pod(t, "a", 3), pod(t, "b", 4))
			before := c.Revision()
			if c.Revision() != before {
				t.Fatal("two revisions of one state differ")
			}
			must(t, change(t, c))
			if c.Revision() == before {
				t.Errorf("the revision is still %v", before)
			}
		})
	}
}

func TestCache_RevisionDiffersAfterASecondDeletionAtOneVersion(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3), pod(t, "b", 4))
	must(t, c.Delete(pod(t, "a", 11)))
	before := c.Revision()
	must(t, c.Delete(pod(t, "b", 11)))
	if c.Revision() == before {
		t.Errorf("the revision is still %v", before)
	}
}

func TestCache_RevisionDiffersBetweenCachesOfTheSameObjects(t *testing.T) {
	one, other := syncedPods(t, 10, pod(t, "a", 3)), syncedPods(t, 10, pod(t, "a", 3))
	if one.Revision() == other.Revision() {
		t.Errorf("both are %v", one.Revision())
	}
}

// TestCache_RejectsSelectionsOfOtherCaches has caches of one resource. The indexes that a selection
// uses are in the cache that it was made by.
func TestCache_RejectsSelectionsOfOtherCaches(t *testing.T) {
	c, other := syncedPods(t, 10, pod(t, "a", 3)), syncedPods(t, 10, pod(t, "a", 3))
	own, foreign := selectFrom(t, c, Query{}), selectFrom(t, other, Query{})
	for name, read := range map[string]func(context.Context, *Selection) error{
		"List": func(ctx context.Context, sel *Selection) error { _, err := c.List(ctx, sel); return err },
		"ListAt": func(ctx context.Context, sel *Selection) error {
			_, err := c.ListAt(ctx, sel, Position{Version: "10"})
			return err
		},
		"Watch": func(ctx context.Context, sel *Selection) error {
			w := c.watch(sel, WatchOptions{})
			defer w.Close()
			_, err := w.Next(ctx)
			return err
		},
		"Rescope": func(ctx context.Context, sel *Selection) error {
			w := c.watch(own, WatchOptions{})
			defer w.Close()
			_, err := w.Next(ctx)
			must(t, err)
			w.Rescope(sel)
			_, err = w.Next(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := read(t.Context(), own); err != nil {
				t.Errorf("its own selection: %v", err)
			}
			if err := read(t.Context(), foreign); !errors.Is(err, ErrForeignSelection) {
				t.Errorf("a selection of another cache: %v", err)
			}
		})
	}
}

func TestCache_LogsItsSnapshots(t *testing.T) {
	logged := captureLog(t)
	c := podCache(1)
	for _, snapshot := range []struct {
		items   []any
		version string
		want    string
	}{
		{items(pod(t, "a", 3)), "10", `level=INFO msg="cache filled" resource=pods.v1 objects=1 seconds=`},
		{items(pod(t, "a", 11), pod(t, "b", 12)), "20", `level=INFO msg="cache relisted" resource=pods.v1 objects=2 changes=2`},
		{items(pod(t, "a", 2)), "5", `level=WARN msg="cache begins a new history: all its watchers get a RESET" resource=pods.v1 objects=1`},
	} {
		must(t, c.Replace(snapshot.items, snapshot.version))
		if line := logged.take(); !strings.Contains(line, snapshot.want) || strings.Count(line, "\n") != 1 {
			t.Errorf("the snapshot at %s: %q, want %s", snapshot.version, line, snapshot.want)
		}
	}
	private := podCache(1)
	private.isPrivate = true
	must(t, private.Replace(items(pod(t, "a", 3)), "10"))
	if line := logged.take(); line != "" {
		t.Errorf("a private cache: %s", line)
	}
}

func TestCache_LogsAListThatTakesLong(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged := captureLog(t)
		c := podCache(1)
		const line = `level=WARN msg="the list of the API server takes long, or fails" resource=pods.v1 seconds=`
		want := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := logged.take(); !strings.Contains(got, want) || (want == "") != (got == "") || strings.Count(got, "\n") > 1 {
				t.Errorf("the log has %q, want %q", got, want)
			}
		}
		c.listStarted("")
		want(29*time.Second, "")
		want(2*time.Second, line+"30")
		c.recordFailure(errors.New("the storage is (re)initializing"))
		c.listStarted("")
		want(30*time.Second, line+`60 error="the storage is (re)initializing"`)
		must(t, c.Replace(items(pod(t, "a", 3)), "10"))
		logged.take()
		want(10*time.Minute, "")
		c.listStarted("10") // a relist
		c.end(errors.New("unused"))
		want(10*time.Minute, "")
	})
}
