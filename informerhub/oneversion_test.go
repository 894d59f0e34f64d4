package informerhub

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// expire deletes pods at one version, as etcd does with objects that share a lease.
func expire(t *testing.T, c *scopeCache, version int, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, c.Delete(pod(t, name, version)))
	}
}

func TestDeletionsAtOneVersion_AreAllSentAfterAReconnect(t *testing.T) {
	for _, window := range []int{1, 1 << 20} {
		t.Run(fmt.Sprint("window of ", window), func(t *testing.T) {
			c := podCache(window)
			must(t, c.Replace(items(pod(t, "a", 1), pod(t, "b", 2), pod(t, "c", 3)), "10"))
			w := startedWatcher(t, c, Query{})
			expire(t, c, 12, "a")
			batch, err := w.Next(t.Context())
			must(t, err)
			position, ok := batch.PositionAfter(len(batch.Events) - 1)
			if !ok || position.Version != "10" {
				t.Fatalf("the stream can be resumed at %q, %v, with more deletions at 12 to come", position.Version, ok)
			}
			expire(t, c, 12, "b", "c")
			want := []string{"DELETED default/b@2 at 12", "DELETED default/c@3 at 12"}
			if window == 1 { // latest states do not say in which order objects were deleted
				want = []string{"DELETED default/a@12 at 12", "DELETED default/b@12 at 12", "DELETED default/c@12 at 12"}
			}
			checkSame(t, want, nextLines(t, resumed(t, c, Query{}, position)))
			must(t, c.Update(pod(t, "d", 13)))
			checkSame(t, []string{"ADDED default/d@13 at 13"}, nextLines(t, resumed(t, c, Query{}, Position{Version: "12"})))
		})
	}
}

// TestDeletionsAtOneVersion_ReachAReaderThatIsCutAfterEach has a connection that breaks after every event,
// and a reader that resumes at another replica each time.
func TestDeletionsAtOneVersion_ReachAReaderThatIsCutAfterEach(t *testing.T) {
	const expiring = 50
	faketime.Test(t, func(t *testing.T) {
		var replicas []*scopeCache
		for range 2 {
			var objects []*Object
			for i := range expiring {
				objects = append(objects, pod(t, fmt.Sprint("pod-", i), i+1))
			}
			c := syncedPods(t, expiring, objects...)
			for i := range expiring {
				expire(t, c, expiring+2, fmt.Sprint("pod-", i))
			}
			replicas = append(replicas, c)
		}
		position, deleted := Position{Version: fmt.Sprint(expiring)}, map[string]bool{}
		for i := range expiring {
			w := resumed(t, replicas[i%2], Query{}, position)
			batch, err := w.Next(t.Context())
			must(t, err)
			w.Close()
			deleted[batch.Events[0].Object.Name()] = true
			position, _ = batch.PositionAfter(0)
		}
		if len(deleted) != expiring {
			t.Fatalf("the reader has received %d deletions of %d", len(deleted), expiring)
		}
		w := resumed(t, replicas[0], Query{}, position)
		w.options.Bookmarks = time.Second
		checkSame(t, []string{fmt.Sprint("BOOKMARK at ", expiring)}, nextLines(t, w))
		batch, err := w.Next(t.Context())
		must(t, err)
		if again, _ := batch.PositionAfter(0); again.Deletion != position.Deletion {
			t.Errorf("a bookmark is behind %v, the reader has received up to %v", again.Deletion, position.Deletion)
		}
	})
}

func TestBookmark_IsNeverAtAnOpenVersion(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, pod(t, "a", 1), pod(t, "b", 2))
		w := startedWatcher(t, c, Query{})
		expire(t, c, 12, "a")
		checkSame(t, []string{"DELETED default/a@1 at 12"}, nextLines(t, w))
		must(t, c.Bookmark("12")) // the API server may send it between two deletions
		checkSame(t, []string{"BOOKMARK at 10"}, nextLines(t, w))
		expire(t, c, 12, "b")
		checkSame(t, []string{"DELETED default/b@2 at 12"}, nextLines(t, w))
		must(t, c.Bookmark("13"))
		checkSame(t, []string{"BOOKMARK at 13"}, nextLines(t, w))
	})
}

// An object that was created and deleted since the position need not be sent, unless the bookmark behind
// the latest states has a version at which it existed.
func TestLatestStates_SayWhatIsDeletedAfterTheirBookmark(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := podCache(1)
		must(t, c.Replace(items(pod(t, "a", 1)), "10"))
		must(t, c.Update(pod(t, "between", 11)))
		must(t, c.Delete(pod(t, "between", 12)))
		must(t, c.Update(pod(t, "after", 13)))
		must(t, c.Update(pod(t, "b", 14)))
		must(t, c.Delete(pod(t, "after", 15)))
		w := resumed(t, c, Query{}, Position{Version: "10"})
		checkSame(t, []string{"ADDED default/b@14 at 14", "DELETED default/after@15 at 15"}, nextLines(t, w))
		checkSame(t, []string{"BOOKMARK at 14"}, nextLines(t, w))
	})
}

func TestClosedVersion_AdvancesWithNewerVersions(t *testing.T) {
	newer := map[string]func(*scopeCache) error{
		"a change":   func(c *scopeCache) error { return c.Update(pod(t, "b", 13)) },
		"a bookmark": func(c *scopeCache) error { return c.Bookmark("13") },
		"a relist":   func(c *scopeCache) error { return c.Replace(items(pod(t, "b", 2)), "13") },
	}
	for name, happens := range newer {
		t.Run(name, func(t *testing.T) {
			c := syncedPods(t, 10, pod(t, "a", 1), pod(t, "b", 2))
			expire(t, c, 12, "a")
			if !c.verifier.isOpen() || c.watchFrom("12") != "10" {
				t.Errorf("a deletion closes its version: the watch resumes from %q", c.watchFrom("12"))
			}
			must(t, happens(c))
			if c.verifier.isOpen() || c.watchFrom("13") != "13" {
				t.Errorf("the version is still open: the watch resumes from %q", c.watchFrom("13"))
			}
		})
	}
}

// A client of another replica has received everything at a version of which this replica has only a
// part.
func TestDeletionsAtOneVersion_AreNotRepeatedByAnotherReplica(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, pod(t, "a", 1), pod(t, "b", 2))
		expire(t, c, 12, "a")
		w := resumed(t, c, Query{}, Position{Version: "12"})
		w.options.Bookmarks = time.Second
		checkSame(t, []string{"BOOKMARK at 12"}, nextLines(t, w))
		expire(t, c, 12, "b")
		checkSame(t, []string{"BOOKMARK at 12"}, nextLines(t, w))
		must(t, c.Update(pod(t, "c", 14)))
		checkSame(t, []string{"ADDED default/c@14 at 14"}, nextLines(t, w))
	})
}

// reaches blocks until the feed is at a version, without asking the API server for it.
func reaches(t *testing.T, c *scopeCache, version string) {
	t.Helper()
	for {
		grown, err := c.notAt(version)
		must(t, err)
		if grown == nil {
			return
		}
		<-grown
	}
}

// The API server sends what is newer than the version that is watched from.
func TestReflector_ResumesBeforeAnOpenVersion(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, upstream := syncedHub(t, api) // has the pod a
	upstream.Send(t, watch.Added, typedPod("b", "12"))
	upstream.Send(t, watch.Added, typedPod("c", "13"))
	upstream.Send(t, watch.Deleted, typedPod("a", "20"))
	reaches(t, cache, "20")
	upstream.End()
	again := api.Next(t, "watch")
	if version := again.Query().Get("resourceVersion"); version != "13" {
		t.Fatalf("the watch resumes from %q: other deletions at 20 are lost", version)
	}
	again.Open().
		Send(t, watch.Deleted, typedPod("a", "20")).
		Send(t, watch.Deleted, typedPod("b", "20")).
		Send(t, watch.Bookmark, bookmarkAt("21"))
	reaches(t, cache, "21")
	checkSame(t, []string{"default/c"}, names(listOf(t, cache, selectFrom(t, cache, Query{})).Objects))
}

// An API server that starts a watch or a list in the middle of several deletions at one version leaves out the
// rest.
func TestReflector_FindsDeletionsThatItsStartLeftOut(t *testing.T) {
	t.Run("a watch", func(t *testing.T) {
		t.Parallel()
		api := fakeapi.New(t, fakeapi.Core)
		api.SetVersion("10")
		_, cache, upstream := syncedHub(t, api) // has the pod a
		for isCurrent := false; !isCurrent; time.Sleep(time.Millisecond) {
			_, how, _ := cache.followed()
			isCurrent = how.current // the API server is not asked for its version any more
		}
		upstream.Send(t, watch.Added, typedPod("b", "12"))
		reaches(t, cache, "12")
		api.SetVersion("12")
		api.Next(t, "watch").Open().Send(t, watch.Added, typedPod("b", "12")).Send(t, watch.Bookmark, bookmarkAt("13"))
		for !isChecked(cache) {
			time.Sleep(time.Millisecond)
		}
		api.SetVersion("21") // an older one than the cache's is another history
		upstream.End()
		api.Next(t, "watch").Open().
			Send(t, watch.Deleted, typedPod("b", "20")).
			Send(t, watch.Added, typedPod("c", "21"))
		reaches(t, cache, "21")
		wantsRelist(t, api, cache, "12", "20", "a", "b")
	})
	t.Run("a list", func(t *testing.T) {
		t.Parallel()
		api := fakeapi.New(t, fakeapi.Core)
		api.SetVersion("10")
		_, cache, _ := syncedHub(t, api)
		wantsRelist(t, api, cache, "9", "10", "a")
	})
}

func isChecked(c *scopeCache) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.unchecked == ""
}

// A replica whose watch has just begun can lack some of several deletions at one version, and its clients
// then do: a client that moves begins again where that is possible, and only there.
func TestUncheckedPosition_ResumesWithResetIfDeletionsCanBeMissing(t *testing.T) {
	const own, another = 7, 8
	began := syncedPods(t, 10, pod(t, "a", 3))
	began.feed.unchecked = ""
	began.watchOpened(false, nil)
	must(t, began.Update(pod(t, "d", 20)))
	if position := began.feed.position(time.Now()); position.Version != "20" || position.Unchecked != "10" {
		t.Fatalf("the position of a cache whose watch has just begun is %+v", position)
	}
	began.feed.unchecked = ""
	if position := began.feed.position(time.Now()); position.Unchecked != "" {
		t.Errorf("the position of a checked cache is %+v", position)
	}

	reset, on := []string{"RESET at 21", "ADDED default/d@21 at 21", "SYNCED at 21"}, []string{"MODIFIED default/d@21 at 21"}
	for name, test := range map[string]struct {
		deleted []int // the versions of the deletions of a, b and c
		since   Position
		known   int // the version since which the API server has history
		want    []string
	}{
		"several at one version":                   {[]int{15, 15, 15}, Position{Version: "20", Unchecked: "10", Epoch: another}, 0, reset},
		"two at one version":                       {[]int{14, 15, 15}, Position{Version: "20", Unchecked: "10", Epoch: another}, 0, reset},
		"each at its own":                          {[]int{14, 15, 16}, Position{Version: "20", Unchecked: "10", Epoch: another}, 0, on},
		"several before the watch began":           {[]int{15, 15, 15}, Position{Version: "20", Unchecked: "15", Epoch: another}, 0, on},
		"several at one version, and checked":      {[]int{15, 15, 15}, Position{Version: "20", Epoch: another}, 0, on},
		"the replica is the same, and will relist": {[]int{15, 15, 15}, Position{Version: "20", Unchecked: "10", Epoch: own}, 0, on},
		"the deletions are not known any more":     {[]int{14, 15, 16}, Position{Version: "20", Unchecked: "5", Epoch: another}, 8, reset},
		"the API server knows the deletions":       {[]int{14, 15, 16}, Position{Version: "20", Unchecked: "5", Epoch: another}, 5, on},
		"the API server knows several":             {[]int{14, 15, 16}, Position{Version: "20", Unchecked: "5", Epoch: another}, 4, reset},
	} {
		for when, arrive := range map[string]func(c *scopeCache, rest func()) []string{
			"the replica has the version": func(c *scopeCache, rest func()) []string {
				rest()
				return nextLines(t, resumed(t, c, Query{}, test.since))
			},
			"the replica gets there": func(c *scopeCache, rest func()) []string {
				w := resumed(t, c, Query{}, test.since)
				for {
					batch, err := w.Next(t.Context())
					must(t, err)
					lines := describeAll(batch.Events, describeEvent)
					isBehind := lines[0] == "BOOKMARK at 20"
					precedes := slices.Equal(test.want, reset) && !slices.Equal(lines, reset) // what was read at once
					if test.since.Epoch == another && (isBehind || precedes) && batch.Position.Unchecked != test.since.Unchecked {
						t.Errorf("until then the position is %+v", batch.Position)
					}
					switch {
					case isBehind:
						rest()
					case precedes:
						return nextLines(t, w)
					default:
						return lines
					}
				}
			},
		} {
			t.Run(name+", "+when, func(t *testing.T) {
				c := podCache(1 << 20)
				known := &replicas{version: 40, compacted: test.known}
				if test.known == 4 {
					known.deleted = []traits{{Namespace: "default", Name: "x", UID: "x", Version: "7"}, {Namespace: "default", Name: "y", UID: "y", Version: "7"}}
				}
				c.history = known
				must(t, c.Replace(items(pod(t, "a", 3), pod(t, "b", 4), pod(t, "c", 5)), "10"))
				c.feed.epoch.id, c.feed.unchecked = own, ""
				arrive := func() []string {
					return arrive(c, func() {
						for i, name := range []string{"a", "b", "c"} {
							must(t, c.Delete(pod(t, name, test.deleted[i])))
						}
						must(t, c.Update(pod(t, "d", 20)))
						must(t, c.Update(pod(t, "d", 21)))
					})
				}
				checkSame(t, test.want, arrive())
			})
		}
	}
}

// wantsRelist expects that the cache requests the deletions since a version. They show that the pods are
// deleted at another version.
func wantsRelist(t *testing.T, api *fakeapi.Server, c *scopeCache, since, at string, pods ...string) {
	t.Helper()
	check := api.Next(t, "watch").Open()
	if version := check.Query().Get("resourceVersion"); version != since {
		t.Fatalf("the deletions are requested since %s", version)
	}
	for _, name := range pods {
		check.Send(t, watch.Deleted, typedPod(name, at))
	}
	check.Send(t, watch.Bookmark, bookmarkAt("30"))
	api.Next(t, "watch-list").Open().Send(t, watch.Added, typedPod("c", "21")).Send(t, watch.Bookmark, bookmarkAt("30"))
	reaches(t, c, "30")
	checkSame(t, []string{"default/c"}, names(listOf(t, c, selectFrom(t, c, Query{})).Objects))
}

// deletedSince is an API server that has deleted objects at a version.
type deletedSince struct {
	history
	deleted []latest
	relists int
}

func (d *deletedSince) deletions(context.Context, string, string) ([]latest, error) {
	return d.deleted, nil
}
func (d *deletedSince) relist() { d.relists++ }

func TestDeletionCheck_WaitsForDeletionsInTransit(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*testing.T, *scopeCache)
		relists   int
	}{
		"a deletion that arrives":  {func(t *testing.T, c *scopeCache) { expire(t, c, 12, "b") }, 0},
		"a deletion that does not": {func(*testing.T, *scopeCache) {}, 1},
		"a later change":           {func(t *testing.T, c *scopeCache) { must(t, c.Update(pod(t, "d", 13))) }, 1},
		"another object of that name": {func(t *testing.T, c *scopeCache) {
			must(t, c.Update(podObject(t, traits{Namespace: "default", Name: "b", UID: "uid-of-another", Version: "13"})))
		}, 0},
		"a watch that must start again": {func(_ *testing.T, c *scopeCache) { c.watchClosed() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				b := pod(t, "b", 2)
				c := syncedPods(t, 10, pod(t, "a", 1), b)
				api := &deletedSince{deleted: []latest{{object: b.HeadOnly(), deleted: true, version: "12"}}}
				c.history, c.following.current = api, true
				c.watchOpened(false, nil)
				expire(t, c, 12, "a")
				ctx, stop := context.WithCancel(t.Context())
				var checking sync.WaitGroup
				checking.Go(func() { c.verifier.checkDeletions(ctx) })
				time.Sleep(2 * closeAfter)
				test.meanwhile(t, c)
				time.Sleep(time.Hour)
				stop()
				checking.Wait()
				if api.relists != test.relists {
					t.Errorf("there were %d relists instead of %d", api.relists, test.relists)
				}
			})
		})
	}
}
