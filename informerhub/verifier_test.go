package informerhub

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// quiet is an API server whose watches have no events up to a version, and report it after a
// second.
type quiet struct {
	history
	until     string
	meanwhile func()
}

func (q *quiet) progress(ctx context.Context, _ string, _ func(watch.Event) bool) (string, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if q.meanwhile != nil {
		q.meanwhile()
	}
	return q.until, nil
}

func TestAwait_RequestsProgressForAVersionWithoutChanges(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		c.history = &quiet{until: "20"}
		must(t, c.Await(t.Context(), "20", time.Minute))
		if c.feed.version != "20" {
			t.Errorf("the cache is at %s", c.feed.version)
		}
		if err := c.Await(t.Context(), "21", time.Minute); err == nil {
			t.Error("version 21 has been reached")
		}
	})
}

func TestProgress_IgnoresResponseIfTheFeedHasAdvanced(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		c.history = &quiet{until: "20", meanwhile: func() { _ = c.Add(pod(t, "a", 12)) }}
		c.verifier.askProgress(t.Context())
		if c.feed.version != "12" {
			t.Errorf("the cache is at %s", c.feed.version)
		}
	})
}

// noProgress is an API server that does not report its progress.
type noProgress struct{ history }

func (noProgress) progress(context.Context, string, func(watch.Event) bool) (string, error) {
	return "", errNoProgress
}

// TestCache_WaitsOnceForAnUnresponsiveAPIServer has several readers wait, one after the other,
// for all deletions at a version.
func TestCache_WaitsOnceForAnUnresponsiveAPIServer(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		c.history = noProgress{}
		must(t, c.Add(pod(t, "a", 11)))
		must(t, c.Delete(pod(t, "a", 12)))
		began := time.Now()
		for range 3 {
			if complete, err := c.AwaitComplete(t.Context(), "12", 3*time.Second); complete || err != nil {
				t.Errorf("the version is complete: %v, %v", complete, err)
			}
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("three readers waited %v in total", waited)
		}
		time.Sleep(incompletePause)
		c.history = &quiet{until: "20"}
		if complete, err := c.AwaitComplete(t.Context(), "12", 3*time.Second); !complete || err != nil {
			t.Errorf("the version is complete: %v, %v", complete, err)
		}
	})
}

// bookmarkless is an API server that sends no bookmarks of the resource. Its lists have some objects, at a
// version.
type bookmarkless struct {
	history
	version string
	objects []*Object
	lists   atomic.Int32
}

func (s *bookmarkless) progress(context.Context, string, func(watch.Event) bool) (string, error) {
	return "", errNoBookmarks
}

func (s *bookmarkless) listed(context.Context) (listedState, error) {
	s.lists.Add(1)
	listed := listedState{version: s.version}
	for _, object := range s.objects {
		listed.add(object)
	}
	return listed, nil
}

func TestAwait_ListsAResourceWithoutBookmarks(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		a, b := pod(t, "a", 5), pod(t, "b", 12)
		c := syncedPods(t, 10, a)
		api := &bookmarkless{version: "20", objects: []*Object{a}}
		c.history = api
		var readers sync.WaitGroup
		for range 10 {
			readers.Go(func() { must(t, c.Await(t.Context(), "20", time.Minute)) })
		}
		readers.Wait()
		if api.lists.Load() != 1 {
			t.Errorf("ten readers caused %d lists", api.lists.Load())
		}
		list := listOf(t, c, selectFrom(t, c, Query{}))
		if list.ResourceVersion != "20" || !list.Complete || c.feed.position(time.Now()).Version != "10" {
			t.Errorf("lists have version %s, and streams continue from %s", list.ResourceVersion, c.feed.position(time.Now()).Version)
		}
		// The list has an object that the watch has not sent yet.
		api.version, api.objects = "30", []*Object{a, b}
		waiting := make(chan error, 1)
		go func() { waiting <- c.Await(t.Context(), "30", time.Minute) }()
		time.Sleep(10 * time.Second)
		select {
		case err := <-waiting:
			t.Fatalf("the cache lacks an object, and a reader does not wait: %v", err)
		default:
		}
		if api.lists.Load() > 1+10 {
			t.Errorf("in ten seconds there were %d lists", api.lists.Load()-1)
		}
		must(t, c.Add(b))
		must(t, <-waiting)
		// A change between them, which a list does not show, was in transit.
		must(t, c.Add(pod(t, "between", 25)))
		if advanced, err := c.unreached("30", (*feed).reached); advanced == nil || err != nil {
			t.Errorf("the cache is at 25, and says that it has reached 30: %v", err)
		}
	})
}

// TestAwait_ListsASmallNamespace is about a namespace that is cached by itself: a reader need not wait for a bookmark, and many
// readers cause few lists.
func TestAwait_ListsASmallNamespace(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		a := pod(t, "a", 5)
		c := syncedPods(t, 10, a)
		api := &bookmarkless{version: "20", objects: []*Object{a}}
		c.history, c.namespace = api, "a"
		c.verifier.slots = fairqueue.New(fairqueue.Limits{Total: 1, Waiting: 100})
		c.verifier.lists = rate.NewLimiter(rate.Every(time.Second), namespaceLists)
		must(t, c.Bookmark("15")) // the API server sends bookmarks
		began := time.Now()
		must(t, c.Await(t.Context(), "20", time.Minute))
		if took := time.Since(began); took > askProgressAfter {
			t.Errorf("a reader has waited for %v", took)
		}
		before := api.lists.Load()
		var readers sync.WaitGroup
		for range 100 {
			readers.Go(func() {
				if err := c.Await(t.Context(), "21", 10*time.Second); err == nil {
					t.Error("a version that the API server does not have is reached")
				}
			})
		}
		readers.Wait()
		if lists := api.lists.Load() - before; lists > 10+namespaceLists {
			t.Errorf("in ten seconds there were %d lists", lists)
		}
	})
}

func TestAwait_ListsNothingOnceThereWereBookmarks(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		api := &bookmarkless{version: "20"}
		c.history = api
		must(t, c.Bookmark("15"))
		if err := c.Await(t.Context(), "20", time.Minute); err == nil || api.lists.Load() > 0 {
			t.Errorf("there were %d lists: %v", api.lists.Load(), err)
		}
	})
}
