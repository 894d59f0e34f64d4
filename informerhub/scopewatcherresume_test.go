package informerhub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// resumed returns a watcher that resumes from the version of another replica.
func resumed(t *testing.T, c *scopeCache, query Query, since Position) *scopeWatcher {
	t.Helper()
	w := c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: time.Hour, Since: &since, SinceTimeout: time.Second})
	t.Cleanup(w.Close)
	return w
}

func TestResume_DeliversEveryStepOfTheWindow(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	must(t, c.Update(pod(t, "a", 11)))
	must(t, c.Update(pod(t, "a", 12)))
	must(t, c.Update(pod(t, "b", 13)))
	must(t, c.Delete(pod(t, "a", 14)))
	for since, want := range map[string][]string{
		"10": {"MODIFIED default/a@11 at 11", "MODIFIED default/a@12 at 12", "ADDED default/b@13 at 13", "DELETED default/a@12 at 14"},
		"12": {"ADDED default/b@13 at 13", "DELETED default/a@12 at 14"},
		"13": {"DELETED default/a@12 at 14"},
		"14": {"BOOKMARK at 14"},
	} {
		t.Run("from "+since, func(t *testing.T) {
			checkSame(t, want, nextLines(t, resumed(t, c, Query{}, Position{Version: since})))
		})
	}
}

func TestResume_SendsABookmarkAfterThePendingEvents(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, pod(t, "a", 3))
		must(t, c.Update(pod(t, "a", 11)))
		w := resumed(t, c, Query{}, Position{Version: "10"})
		checkSame(t, []string{"MODIFIED default/a@11 at 11"}, nextLines(t, w))
		began := time.Now()
		checkSame(t, []string{"BOOKMARK at 11"}, nextLines(t, w))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the bookmark was sent after %v", waited)
		}
		must(t, c.Update(pod(t, "a", 12)))
		checkSame(t, []string{"MODIFIED default/a@12 at 12"}, nextLines(t, w))
		checkSame(t, []string{"BOOKMARK at 12"}, nextLines(t, w))
		if waited := time.Since(began); waited != time.Hour {
			t.Errorf("the next bookmark was sent after %v, want the interval of an hour", waited)
		}
	})
}

func TestResume_DeliversLatestStatesIfOlderThanTheWindow(t *testing.T) {
	c := podCache(1) // an empty window
	must(t, c.Replace(items(pod(t, "a", 3), pod(t, "b", 4), pod(t, "gone", 5)), "10"))
	must(t, c.Update(pod(t, "a", 11)))
	must(t, c.Update(pod(t, "a", 12)))
	must(t, c.Delete(pod(t, "gone", 13)))
	must(t, c.Update(pod(t, "new", 14)))
	checkSame(t, []string{"MODIFIED default/a@12 at 12", "DELETED default/gone@13 at 13", "ADDED default/new@14 at 14"},
		nextLines(t, resumed(t, c, Query{}, Position{Version: "10"})))
	checkSame(t, []string{"DELETED default/gone@13 at 13", "ADDED default/new@14 at 14"},
		nextLines(t, resumed(t, c, Query{}, Position{Version: "12"})))
}

// An object that was created after the position, and not sent in an earlier part, cannot be held.
func TestLatestStates_OmitUnsentObjectsThatLeftTheSelection(t *testing.T) {
	limits := defaultLimits(1)
	limits.partBytes = 1 // each part has one object
	c := cacheWithin(pods, limits)
	must(t, c.Replace(items(pod(t, "y", 3)), "10"))
	must(t, c.Add(labelled(t, "a", "web", 11)))
	must(t, c.Add(labelled(t, "b", "web", 12)))
	must(t, c.Add(labelled(t, "c", "other", 13)))
	must(t, c.Add(labelled(t, "d", "web", 14)))
	must(t, c.Add(labelled(t, "e", "web", 15)))
	must(t, c.Update(labelled(t, "d", "other", 16)))
	must(t, c.Update(labelled(t, "c", "other", 17)))
	w := resumed(t, c, byLabel, Position{Version: "10"})
	checkSame(t, []string{"ADDED default/a@11 at 11"}, nextLines(t, w))
	must(t, c.Update(labelled(t, "a", "other", 18)))
	must(t, c.Delete(pod(t, "e", 19)))
	checkSame(t, []string{"ADDED default/b@12 at 12"}, nextLines(t, w))
	must(t, c.Update(labelled(t, "b", "web", 20)))
	var rest []string
	for len(rest) < 3 {
		rest = append(rest, nextLines(t, w)...)
	}
	// It is unknown whether e was sent before it was deleted.
	checkSame(t, []string{"DELETED default/a@18 at 18", "DELETED default/e@19 at 19", "MODIFIED default/b@20 at 20"}, rest)
}

func TestResume_DeliversChangedContentOfTheSameVersion(t *testing.T) {
	for name, window := range map[string]int{"in the window": 1 << 20, "behind the window": 1} {
		t.Run(name, func(t *testing.T) {
			c := podCache(window)
			a := traits{Namespace: "default", Name: "a", UID: "uid-a", Version: "3"}
			must(t, c.Replace(items(podObject(t, a), pod(t, "b", 4)), "10"))
			a.Node = "node-2"
			must(t, c.Replace(items(podObject(t, a), pod(t, "b", 12)), "20"))
			checkSame(t, []string{"MODIFIED default/b@12 at 12", "MODIFIED default/a@3 at 20"},
				nextLines(t, resumed(t, c, Query{}, Position{Version: "10"})))
			checkSame(t, []string{"BOOKMARK at 20"}, nextLines(t, resumed(t, c, Query{}, Position{Version: "20"})))
		})
	}
}

func TestResume_ResyncsIfADeletionWasEvicted(t *testing.T) {
	limits := defaultLimits(1)
	limits.tombstones = 1
	c := cacheWithin(pods, limits)
	must(t, c.Replace(items(pod(t, "a", 3), pod(t, "b", 4)), "10"))
	must(t, c.Delete(pod(t, "a", 11)))
	must(t, c.Delete(pod(t, "b", 12)))
	checkSame(t, []string{"RESET at 12", "SYNCED at 12"}, nextLines(t, resumed(t, c, Query{}, Position{Version: "10"})))
	checkSame(t, []string{"DELETED default/b@12 at 12"}, nextLines(t, resumed(t, c, Query{}, Position{Version: "11"})))
}

// The position is older than the window, and the records around it have been swept.
func TestLatestStates_DeliverDeletionsAfterTheLogIsSwept(t *testing.T) {
	churn := func(t *testing.T, c *scopeCache, from int) string {
		version := from
		for ; len(c.feed.log.records) != c.feed.log.current || version < from+10; version++ {
			must(t, c.Update(pod(t, "y", version)))
		}
		return fmt.Sprintf("MODIFIED default/y@%d at %d", version-1, version-1)
	}
	start := func(t *testing.T) *scopeCache {
		c := podCache(1)
		must(t, c.Replace(items(pod(t, "y", 3)), "10"))
		return c
	}
	t.Run("an object that was created before the position", func(t *testing.T) {
		c := start(t)
		must(t, c.Add(pod(t, "x", 11)))
		must(t, c.Delete(pod(t, "x", 12)))
		last := churn(t, c, 13)
		checkSame(t, []string{"DELETED default/x@12 at 12", last}, nextLines(t, resumed(t, c, Query{}, Position{Version: "11"})))
	})
	t.Run("an object that left the selection", func(t *testing.T) {
		c := start(t)
		must(t, c.Add(labelled(t, "x", "web", 11)))
		must(t, c.Update(labelled(t, "x", "other", 12)))
		last := strings.Replace(churn(t, c, 13), "MODIFIED", "DELETED", 1) // the label may have been another
		checkSame(t, []string{"DELETED default/x@12 at 12", last}, nextLines(t, resumed(t, c, byLabel, Position{Version: "11"})))
	})
	t.Run("an object that has changed since is not ADDED", func(t *testing.T) {
		c := start(t)
		must(t, c.Add(pod(t, "x", 11)))
		must(t, c.Update(pod(t, "x", 12)))
		last := churn(t, c, 13)
		checkSame(t, []string{"MODIFIED default/x@12 at 12", last}, nextLines(t, resumed(t, c, Query{}, Position{Version: "11"})))
	})
}

func TestResume_ResyncsFromAnUndoneHistory(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	before := c.feed.position(time.Now())
	must(t, c.Replace(items(pod(t, "a", 2)), "5")) // restored from a backup
	must(t, c.Update(pod(t, "a", 11)))
	began := []string{"RESET at 11", "ADDED default/a@11 at 11", "SYNCED at 11"}
	checkSame(t, began, nextLines(t, resumed(t, c, Query{}, before)))
	t.Run("also one of another replica, from before the restore", func(t *testing.T) {
		before.Epoch = 7
		checkSame(t, began, nextLines(t, resumed(t, c, Query{}, before)))
	})
}

func TestResume_WaitsForACacheAtAnOlderVersion(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		go func() {
			time.Sleep(time.Second / 2)
			_ = c.Add(pod(t, "a", 20))
		}()
		checkSame(t, []string{"BOOKMARK at 20"}, nextLines(t, resumed(t, c, Query{}, Position{Version: "20"})))
		start := time.Now()
		_, err := resumed(t, c, Query{}, Position{Version: "30"}).Next(t.Context())
		if away := (*discovery.UnavailableError)(nil); !errors.As(err, &away) {
			t.Errorf("error %v, want a discovery.UnavailableError: a snapshot would go back in time", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v for a version that is not reached", waited)
		}
	})
}

func TestBatch_IsResumableOnlyBetweenSteps(t *testing.T) {
	at := func(version string, step uint64, closes string) Event {
		return Event{ResourceVersion: version, step: step, closes: closes}
	}
	batch := Batch{Events: []Event{
		at("1", 1, "1"), at("2", 3, "2"), at("2", 3, "2"),
		at("4", 4, "3"), at("4", 5, "3"), at("4", 6, "3"), // deleted at one version
		at("5", 7, "5"), at("6", 8, "6"),
	}, Position: Position{Version: "7", Epoch: 9}}
	for i, want := range []string{"1", "", "2", "3", "3", "4", "5", "7"} {
		position, ok := batch.PositionAfter(i)
		if position.Version != want || ok != (want != "") || ok && position.Epoch != 9 {
			t.Errorf("after event %d: %+v, %v", i, position, ok)
		}
	}
	for name, whole := range map[string]Batch{
		"a snapshot":    {Events: batch.Events, snapshot: true},
		"latest states": {Events: batch.Events, compacted: true},
	} {
		if _, ok := whole.PositionAfter(0); ok {
			t.Errorf("resumable within %s", name)
		}
		if _, ok := whole.PositionAfter(len(whole.Events) - 1); !ok {
			t.Errorf("not resumable after %s", name)
		}
	}
}

func TestBatch_IsNotResumableWithinARelist(t *testing.T) {
	c := syncedPods(t, 4, pod(t, "x", 1), pod(t, "y", 2), pod(t, "z", 3))
	w := resumed(t, c, Query{}, Position{Version: "4"})
	checkSame(t, []string{"BOOKMARK at 4"}, nextLines(t, w))
	must(t, c.Update(pod(t, "y", 5)))
	must(t, c.Replace(items(pod(t, "y", 7), pod(t, "z", 8)), "9")) // x was deleted at an unknown time
	must(t, c.Update(pod(t, "y", 10)))
	batch, err := w.Next(t.Context())
	must(t, err)
	for i, want := range []string{"5", "", "", "9", "10"} { // y@5 | y@7, z@8, x deleted @9 | y@10
		if position, _ := batch.PositionAfter(i); position.Version != want {
			t.Errorf("after %s: %q, want %q", describeEvent(batch.Events[i]), position.Version, want)
		}
	}
}

func TestBatch_EndWithinAStepIsNotResumable(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(nil, "1"))
	w := startedWatcher(t, c, Query{})
	var all []any
	for i := range c.feed.limits.batch + 1 {
		all = append(all, pod(t, fmt.Sprint("pod-", i), 2+i))
	}
	must(t, c.Replace(all, "5000"))
	for _, want := range []string{"", "5000"} {
		batch, err := w.Next(t.Context())
		must(t, err)
		position, ok := batch.PositionAfter(len(batch.Events) - 1)
		if ok != (want != "") || ok && position.Version != want {
			t.Errorf("after %d events: %q, %v, want %q", len(batch.Events), position.Version, ok, want)
		}
	}
}

func TestHistory_BackfillsDeletionsFromBeforeTheStart(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, _ := syncedHub(t, api)
	w := resumed(t, cache, Query{}, Position{Version: "2"})
	received := make(chan []string)
	go func() {
		batch, _ := w.Next(t.Context())
		received <- describeAll(batch.Events, describeEvent)
	}()
	history := api.Next(t, "watch")
	if version := history.Query().Get("resourceVersion"); version != "2" {
		t.Errorf("requested from %q", version)
	}
	history.Open().
		Send(t, watch.Added, typedPod("a", "3")).
		Send(t, watch.Deleted, typedPod("gone", "6")).
		Send(t, watch.Bookmark, bookmarkAt("12"))
	checkSame(t, []string{"MODIFIED default/a@3 at 3", "DELETED default/gone@6 at 6"}, <-received)

	t.Run("once", func(t *testing.T) {
		checkSame(t, []string{"DELETED default/gone@6 at 6"}, nextLines(t, resumed(t, cache, Query{}, Position{Version: "4"})))
	})
}

// TestHistory_EndsWithTheLastChangeOfTheCluster is about an API server that sends no bookmark,
// because it has no version after the last event.
func TestHistory_EndsWithTheLastChangeOfTheCluster(t *testing.T) {
	for name, test := range map[string]struct {
		last   watch.EventType
		object string
		open   time.Duration // how long the watch stays open; 0: until the test ends
		want   []string
	}{
		"a change":   {watch.Modified, "a", 0, []string{"MODIFIED default/a@3 at 3", "DELETED default/deleted@6 at 6"}},
		"a deletion": {watch.Deleted, "b", (historySeconds + 1) * time.Second, []string{"MODIFIED default/a@3 at 3", "DELETED default/deleted@6 at 6", "DELETED default/b@10 at 10"}},
		"a deletion, and the watch ends early": {
			watch.Deleted, "b", time.Millisecond, []string{"RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := fakeapi.New(t, fakeapi.Core)
			_, cache, _ := syncedHub(t, api)
			w := resumed(t, cache, Query{}, Position{Version: "2"})
			received := make(chan []string)
			go func() {
				batch, _ := w.Next(t.Context())
				received <- describeAll(batch.Events, describeEvent)
			}()
			history := api.Next(t, "watch").Open().
				Send(t, watch.Deleted, typedPod("deleted", "6")).
				Send(t, test.last, typedPod(test.object, "10"))
			if test.open > 0 {
				time.Sleep(test.open)
				history.End()
			}
			checkSame(t, test.want, <-received)
		})
	}
}

func TestHistory_ResyncsIfItHasExpired(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, _ := syncedHub(t, api)
	w := resumed(t, cache, Query{}, Position{Version: "2"})
	received := make(chan []string)
	go func() {
		batch, _ := w.Next(t.Context())
		received <- describeAll(batch.Events, describeEvent)
	}()
	api.Next(t, "watch").Refuse(expired)
	checkSame(t, []string{"RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10"}, <-received)
}

func TestAwait_WaitsUntilItsTimeout(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		go func() {
			time.Sleep(time.Second)
			_ = c.Bookmark("12")
		}()
		must(t, c.Await(t.Context(), "9", 0))
		must(t, c.Await(t.Context(), "12", 2*time.Second))
		if err := c.Await(t.Context(), "13", time.Second); err == nil {
			t.Error("version 13 has been reached")
		}
		if err := c.Await(t.Context(), "no version", time.Second); err == nil {
			t.Error(`"no version" is one`)
		}
		for _, within := range []time.Duration{10 * time.Millisecond, time.Second, time.Minute} {
			calling, cancel := context.WithTimeout(t.Context(), within)
			began := time.Now()
			err := c.Await(calling, "13", 5*time.Second)
			if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds <= 0 || calling.Err() != nil {
				t.Errorf("with a deadline in %v: %v after %v", within, err, time.Since(began))
			}
			cancel()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Await(ctx, "13", time.Hour); err == nil {
			t.Error("still waiting after the caller has disconnected")
		}
	})
}

func TestLog_KeepsOneRecordForEachObject(t *testing.T) {
	c := podCache(1)
	must(t, c.Replace(nil, "1"))
	const objects = 10
	for version := 2; version < 20_000; version++ {
		must(t, c.Update(pod(t, fmt.Sprint("pod-", version%objects), version)))
	}
	if records := len(c.feed.log.records); records > 2*objects+c.feed.limits.sweepSlack+1 {
		t.Errorf("%d records of %d objects", records, objects)
	}
	if states := c.feed.log.next(0, c.feed.limits).states; len(states) != objects {
		t.Errorf("%d states for %d objects", len(states), objects)
	}
}

func TestWatcherIndex_WakesOnlyMatchingGroups(t *testing.T) {
	labelled := func(name, app string, version int) *Object {
		return podObject(t, traits{Namespace: "default", Name: name, UID: "uid-" + name, Version: fmt.Sprint(version), Labels: map[string]string{"app": app}})
	}
	c := syncedPods(t, 10)
	groupOf := func(query Query) *watcherGroup {
		w := startedWatcher(t, c, query)
		return w.group
	}
	all := groupOf(Query{})
	web, api := groupOf(Query{LabelSelector: "app=web"}), groupOf(Query{LabelSelector: "app=api"})
	here, there := groupOf(Query{Namespace: "default"}), groupOf(Query{Namespace: "other"})
	some, others := groupOf(Query{Namespaces: []string{"default", "other"}}), groupOf(Query{Namespaces: []string{"a", "b"}})
	one, another := groupOf(Query{Namespace: "default", Name: "one"}), groupOf(Query{Namespace: "default", Name: "another"})
	steps := []struct {
		change *Object
		wakes  []*watcherGroup
	}{
		{labelled("one", "web", 11), []*watcherGroup{all, web, here, some, one}},
		{labelled("one", "api", 12), []*watcherGroup{all, web, api, here, some, one}}, // it replaces one label by another
		{labelled("another", "db", 13), []*watcherGroup{all, here, some, another}},
	}
	for _, step := range steps {
		before := map[*watcherGroup]int{}
		groups := []*watcherGroup{all, web, api, here, there, some, others, one, another}
		for _, group := range groups {
			before[group] = len(group.seqs)
		}
		must(t, c.Update(step.change))
		for i, group := range groups {
			woken := len(group.seqs) > before[group]
			if want := contains(step.wakes, group); woken != want {
				t.Errorf("at %s group %d was woken: %v", step.change.ResourceVersion(), i, woken)
			}
		}
	}
}

func contains(groups []*watcherGroup, wanted *watcherGroup) bool {
	for _, group := range groups {
		if group == wanted {
			return true
		}
	}
	return false
}

func TestWatcherIndex_RemovesGroupsWithoutWatchers(t *testing.T) {
	c := syncedPods(t, 10)
	for _, query := range []Query{{}, {Namespace: "a"}, {Namespaces: []string{"a", "b"}}, {LabelSelector: "app=web"}, {FieldSelector: "spec.nodeName=n1"}} {
		startedWatcher(t, c, query).Close()
	}
	if left := len(c.feed.watchers.groups) + len(c.feed.watchers.fields) + len(c.feed.watchers.byNamespace); left != 0 {
		t.Errorf("%d groups are left", left)
	}
}

func TestResume_OlderReplicaRepeatsNoEvents(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, upstream := syncedHub(t, api)
	api.SetVersion("25")
	w := resumed(t, cache, Query{}, Position{Version: "20"})
	received := make(chan []string)
	next := func() {
		batch, _ := w.Next(t.Context())
		received <- describeAll(batch.Events, describeEvent)
	}
	go next()
	checkSame(t, []string{"BOOKMARK at 20"}, <-received)
	// The events that the other replica has delivered are not repeated, and the later ones are
	// delivered.
	upstream.Send(t, watch.Modified, typedPod("a", "15"))
	upstream.Send(t, watch.Modified, typedPod("a", "21"))
	go next()
	checkSame(t, []string{"MODIFIED default/a@21 at 21"}, <-received)
}

func TestResume_ResyncsFromAVersionThatWasNeverReached(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, _ := syncedHub(t, api)
	api.SetVersion("19")
	w := resumed(t, cache, Query{}, Position{Version: "20"})
	received := make(chan []string)
	go func() {
		batch, _ := w.Next(t.Context())
		received <- describeAll(batch.Events, describeEvent)
	}()
	checkSame(t, []string{"RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10"}, <-received)
}

// in returns a pod of a namespace at a version.
func in(t *testing.T, namespace, name, version string) *Object {
	t.Helper()
	return podObject(t, traits{Namespace: namespace, Name: name, UID: "uid-" + namespace + name, Version: version})
}

// followingNamespaces returns a reader of some namespaces that has read the snapshot.
func followingNamespaces(t *testing.T, c *scopeCache, namespaces ...string) *reader {
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

// TestResume_SendsABookmarkAfterWhatWasPending has more to read after each batch, because changes come
// faster than they are read. The first bookmark is behind the last change that was pending at the
// beginning, and further ones follow at the interval.
func TestResume_SendsABookmarkAfterWhatWasPending(t *testing.T) {
	for _, pending := range []int{0, 1, 5} {
		t.Run(fmt.Sprint(pending, " pending changes"), func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				limits := defaultLimits(1 << 20)
				limits.batch = 1
				c := cacheWithin(pods, limits)
				must(t, c.Replace(nil, "10"))
				written := 10
				write := func(changes int) {
					for range changes {
						written++
						must(t, c.Update(pod(t, "busy", written)))
					}
				}
				write(pending)
				w := resumed(t, c, Query{}, Position{Version: "10"})
				w.options.Bookmarks = interval
				var bookmarks []int
				var last time.Time
				for read := 10; len(bookmarks) < 3; {
					batch, err := w.Next(t.Context())
					must(t, err)
					if batch.Events[0].Type != Bookmark {
						read++
						write(3)
						time.Sleep(interval / 10)
						if len(bookmarks) > 0 && time.Since(last) > interval+interval/5 {
							t.Fatalf("no bookmark for %s", time.Since(last))
						}
						continue
					}
					if event := batch.Events[0]; event.ResourceVersion != fmt.Sprint(read) {
						t.Errorf("a bookmark at %s behind %d", event.ResourceVersion, read)
					}
					bookmarks, last = append(bookmarks, read), time.Now()
					if len(bookmarks) == 1 {
						write(3) // the watcher that resumed without a change has more from here on
					}
				}
				if bookmarks[0] != 10+pending {
					t.Errorf("the bookmarks are at %v, and %d was pending", bookmarks, 10+pending)
				}
			})
		})
	}
}
