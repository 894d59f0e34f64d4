package informerhub

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/coalesce"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/internal/watchlist"
)

// compacted returns the status with which the API server ends a watch that must be followed by a
// list.
func compacted() *metav1.Status {
	status := expired
	status.APIVersion, status.Kind = "v1", "Status"
	return &status
}

// notReached is the API server's error for a version that it has not reached.
var notReached = metav1.Status{
	TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
	Status:   metav1.StatusFailure, Reason: metav1.StatusReasonTimeout, Code: http.StatusGatewayTimeout,
	Message: "Too large resource version: 10, current: 5",
	Details: &metav1.StatusDetails{
		RetryAfterSeconds: 1,
		Causes:            []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}},
	},
}

// An answer of the API server about progress advances the feed past the version that the Reflector
// has seen. Another API server may be older.
func TestRelist_IsNotOlderThanTheFeed(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, upstream := syncedHub(t, api) // at 10
	cache.mu.Lock()
	cache.feed.advance("20")
	cache.mu.Unlock()
	upstream.Send(t, watch.Error, compacted())
	if version := api.Next(t, "watch-list").Query().Get("resourceVersion"); version != "20" {
		t.Errorf("the cache is at 20, and lists from %q", version)
	}
}

// An API server whose etcd was restored from a backup accepts a watch from a version that it has
// not reached, and sends nothing.
func TestRelist_FollowsAWatchOfAnUndoneHistory(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	api.SetVersion("10")
	_, cache, upstream := syncedHub(t, api) // at 10
	w := longWatch(t, cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	for !isCurrent(cache) { // otherwise the first watch requests the version too
		time.Sleep(time.Millisecond)
	}
	upstream.Send(t, watch.Modified, typedPod("a", "11"))
	expect(t, w, "MODIFIED default/a@11 at 11")
	api.SetVersion("5")
	upstream.End()
	api.Next(t, "watch").Open()
	api.Next(t, "watch-list").Refuse(notReached)
	relisted := api.Next(t, "watch-list")
	if version := relisted.Query().Get("resourceVersion"); version != "" {
		t.Errorf("lists from version %q", version)
	}
	relisted.Open().Send(t, watch.Added, typedPod("b", "4")).Send(t, watch.Bookmark, bookmarkAt("5"))
	expect(t, w, "RESET at 5", "ADDED default/b@4 at 4", "SYNCED at 5")
}

// A watch resumes before a deletion that may not be the only one at its version; a list does not.
func TestRelist_IsNotOlderThanADeletion(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, upstream := syncedHub(t, api)
	upstream.Send(t, watch.Added, typedPod("b", "12"))
	upstream.Send(t, watch.Deleted, typedPod("a", "20"))
	reaches(t, cache, "20")
	upstream.Send(t, watch.Error, compacted())
	if version := api.Next(t, "watch-list").Query().Get("resourceVersion"); version != "20" {
		t.Errorf("the cache is at 20, and lists from %q", version)
	}
}

// A list in progress may be older than the version that the API server reports as progress. It is
// not a list of another history.
func TestRelist_IgnoresProgressUntilItEnds(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, pod(t, "a", 3))
		c.history = &quiet{until: "30"}
		w := startedWatcher(t, c, Query{})
		c.watchClosed()
		c.listStarted("10")
		c.watchOpened(true, nil)
		c.verifier.askProgress(t.Context())
		must(t, c.Replace(items(pod(t, "a", 3)), "20"))
		checkSame(t, []string{"BOOKMARK at 20"}, nextLines(t, w))
		c.verifier.askProgress(t.Context())
		checkSame(t, []string{"BOOKMARK at 30"}, nextLines(t, w))
	})
}

// A client in a gap has received the deletion of an object and the creation of its successor when
// another client makes the cache request the deletions in the gap.
func TestLatestStates_OmitDeletionsOlderThanSentStates(t *testing.T) {
	limits := defaultLimits(1)
	limits.batch = 2
	c := cacheWithin(pods, limits)
	must(t, c.Replace(items(pod(t, "a", 3)), "10"))
	again := podObject(t, traits{Namespace: "default", Name: "a", UID: "uid-of-another", Version: "20"})
	must(t, c.Replace(items(again, pod(t, "c", 21), pod(t, "d", 22)), "30"))
	w := resumed(t, c, Query{}, Position{Version: "10"})
	checkSame(t, []string{"DELETED default/a@20 at 20", "MODIFIED default/a@20 at 20"}, nextLines(t, w))
	c.mu.Lock()
	c.feed.log.backfill([]latest{{object: pod(t, "a", 15).HeadOnly(), deleted: true, version: "15"}}, "10", "30")
	c.mu.Unlock()
	checkSame(t, []string{"MODIFIED default/c@21 at 21", "MODIFIED default/d@22 at 22"}, nextLines(t, w))
}

// stalledHub asks for the cache of pods of a hub in a bubble, and returns the watch-list.
func stalledHub(t *testing.T, api *fakeapi.Server) (*Hub, <-chan asking, *fakeapi.Call) {
	t.Helper()
	api.SetVersion("10")
	hub := hubOf(t, api.DirectConfig())
	return hub, ask(t.Context(), hub, pods), api.Next(t, "watch-list")
}

func TestWatchList_IsReplacedByAListUnlessItIsCompleted(t *testing.T) {
	changed := func(t *testing.T, call *fakeapi.Call) {
		call.Open().Send(t, watch.Added, typedPod("a", "3"))
		for version := 11; ; version++ {
			call.Send(t, watch.Modified, typedPod("a", strconv.Itoa(version)))
			time.Sleep(time.Second)
			if call.Request.Context().Err() != nil {
				return
			}
		}
	}
	for name, respond := range map[string]func(*testing.T, *fakeapi.Call){
		"the response does not begin":        func(*testing.T, *fakeapi.Call) {},
		"nothing is sent":                    func(_ *testing.T, call *fakeapi.Call) { call.Open() },
		"all is sent but the bookmark":       func(t *testing.T, call *fakeapi.Call) { call.Open().Send(t, watch.Added, typedPod("a", "3")) },
		"changes are sent instead":           changed,
		"a bookmark of another kind is sent": func(t *testing.T, call *fakeapi.Call) { call.Open().Send(t, watch.Bookmark, typedPod("", "10")) },
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				api := fakeapi.New(t, fakeapi.Core)
				hub, answered, call := stalledHub(t, api)
				var responding sync.WaitGroup
				defer responding.Wait()
				responding.Go(func() { respond(t, call) })
				api.Next(t, "list").List(t, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{*typedPod("a", "3")}})
				<-answered // an error, if it was too early for a snapshot
				api.Next(t, "watch").Open()
				got := <-ask(t.Context(), hub, pods)
				must(t, got.err)
				if _, err := got.cache.Get("default", "a"); err != nil {
					t.Error(err)
				}
				if ended := hub.Totals().UnfinishedWatchLists; ended != 1 {
					t.Errorf("%d watch-lists were ended, want 1", ended)
				}
			})
		})
	}
}

func TestWatchList_CanBeSlow(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := fakeapi.New(t, fakeapi.Core)
		hub, answered, call := stalledHub(t, api)
		call.Open().SendSlowly(t, 10, watchlist.MaxSilence-time.Second, watch.Added, typedPod("a", "3"))
		call.Send(t, watch.Bookmark, bookmarkAt("10"))
		<-answered // an error, because it was too early for a snapshot
		must(t, (<-ask(t.Context(), hub, pods)).err)
		if ended := hub.Totals().UnfinishedWatchLists; ended != 0 {
			t.Errorf("%d watch-lists were ended", ended)
		}
	})
}

// silent is an API server that returns no history, after a while.
type silent struct {
	history
	asked int
}

func (s *silent) deletions(context.Context, string, string) ([]latest, error) {
	s.asked++
	return nil, errHistorySilent
}

func isCurrent(c *scopeCache) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.following.current
}

// Clients can send versions that the cluster has not reached. They share the requests to the API
// server that these cause.
func TestWatch_UnreachedVersionsShareRequests(t *testing.T) {
	for name, version := range map[string]string{"near": "15", "far": "9000000000000", "too long to count": "99999999999999999999999"} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
			api.SetVersion("10")
			hub := hubOf(t, api.Config())
			answered := ask(t.Context(), hub, widgets)
			snapshotOfWidgets(t, api, "10", "red")
			got := <-answered
			must(t, got.err)
			before := api.VersionRequests()
			began := time.Now()
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					w := got.cache.watch(selectFrom(t, got.cache, Query{}), WatchOptions{Since: &Position{Version: version}, SinceTimeout: time.Second})
					defer w.Close()
					batch, err := w.Next(t.Context())
					if err != nil || batch.Events[0].Type != Reset {
						t.Errorf("received %v (%v)", batch.Events, err)
					}
				})
			}
			all.Wait()
			// The cache itself has asked, too.
			if asked, most := api.VersionRequests()-before, coalesce.Burst+int(coalesce.PerSecond*time.Since(began).Seconds())+3; asked > most {
				t.Errorf("the API server was asked %d times, want at most %d", asked, most)
			}
		})
	}
}

// expiring is an API server whose history goes back to a version.
type expiring struct {
	*replicas
	asked int
}

func (e *expiring) deletions(context.Context, string, string) ([]latest, error) {
	e.asked++
	return nil, errHistoryExpired
}
