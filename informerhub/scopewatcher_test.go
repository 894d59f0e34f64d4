package informerhub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

const interval = 5 * time.Second

// startedWatcher returns a watcher that has read its snapshot.
func startedWatcher(t *testing.T, c *scopeCache, query Query) *scopeWatcher {
	t.Helper()
	w := c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: interval})
	if _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func nextLines(t *testing.T, w *scopeWatcher) []string {
	t.Helper()
	batch, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return describeAll(batch.Events, describeEvent)
}

func TestWatcher_SendsABookmarkAtEachInterval(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, pod(t, "a", 3))
		w := startedWatcher(t, c, Query{})
		for _, version := range []int{10, 11, 11, 12} {
			must(t, c.Bookmark(fmt.Sprint(version)))
			start := time.Now()
			checkSame(t, []string{fmt.Sprint("BOOKMARK at ", version)}, nextLines(t, w))
			if waited := time.Since(start); waited != interval {
				t.Errorf("waited %v, want %v", waited, interval)
			}
		}
	})
}

// TestWatcher_SendsBookmarksAcrossShortCallsOfNext calls Next with contexts that end before the
// interval, as for a caller whose permissions are checked more often.
func TestWatcher_SendsBookmarksAcrossShortCallsOfNext(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		w := startedWatcher(t, syncedPods(t, 10), Query{})
		for range 3 {
			start := time.Now()
			for err := context.DeadlineExceeded; err != nil; {
				turn, cancel := context.WithTimeout(t.Context(), 3*interval/4)
				_, err = w.Next(turn)
				cancel()
				if waited := time.Since(start); err == nil != (waited == interval) {
					t.Fatalf("after %v: %v", waited, err)
				}
			}
		}
	})
}

func TestWatcher_DeliversEventsWithoutWaitingForTheInterval(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		w := startedWatcher(t, c, Query{})
		go func() {
			time.Sleep(time.Second)
			_ = c.Add(pod(t, "a", 11))
		}()
		start := time.Now()
		checkSame(t, []string{"ADDED default/a@11 at 11"}, nextLines(t, w))
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestWatcher_SendsBookmarksWhileOtherObjectsChange is the hard case: the feed advances at
// the moment when each bookmark is due.
func TestWatcher_SendsBookmarksWhileOtherObjectsChange(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		w := startedWatcher(t, c, Query{Name: "rare"})
		ctx, stop := context.WithCancel(t.Context())
		var writer sync.WaitGroup
		writer.Go(func() {
			for version := 11; ctx.Err() == nil; version++ {
				_ = c.Update(pod(t, "busy", version))
				time.Sleep(interval / 10)
			}
		})
		for round := range 20 {
			start := time.Now()
			batch, err := w.Next(ctx)
			events := batch.Events
			if err != nil || len(events) != 1 || events[0].Type != Bookmark || time.Since(start) != interval {
				t.Errorf("round %d: %v, %v after %v", round, describeAll(events, describeEvent), err, time.Since(start))
			}
		}
		stop()
		writer.Wait()
	})
}

// TestWatcher_SendsBookmarksWhileItsOwnObjectsChange has a change ten times in each interval, so that
// the watcher is never quiet for an interval; and more changes than a batch takes, so that there is
// always more to read. Each bookmark is at the version of the last batch, and as of the time of the
// oldest change that is still pending.
func TestWatcher_SendsBookmarksWhileItsOwnObjectsChange(t *testing.T) {
	for name, changes := range map[string]int{"every change is read at once": 1, "there is always more": 3} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				limits := defaultLimits(1 << 20)
				limits.batch = 1
				c := cacheWithin(pods, limits)
				must(t, c.Replace(nil, "10"))
				w := startedWatcher(t, c, Query{})
				ctx, stop := context.WithCancel(t.Context())
				var writer sync.WaitGroup
				defer writer.Wait()
				defer stop()
				began := time.Now()
				writtenAt := func(version int) time.Time { return began.Add(interval / 10 * time.Duration((version-11)/changes)) }
				writer.Go(func() {
					for version := 11; ctx.Err() == nil; time.Sleep(interval / 10) {
						for range changes {
							_ = c.Update(pod(t, "busy", version))
							version++
						}
					}
				})
				last, version := time.Now(), 10
				for bookmarks := 0; bookmarks < 5; {
					batch, err := w.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if event := batch.Events[0]; event.Type != Bookmark {
						version++ // a batch has one change
						time.Sleep(interval / 10)
						if waited := time.Since(last); waited > interval+interval/5 {
							t.Fatalf("no bookmark for %s", waited)
						}
						continue
					}
					bookmarks, last = bookmarks+1, time.Now()
					if position, ok := batch.PositionAfter(0); !ok || position.Version != fmt.Sprint(version) {
						t.Errorf("a bookmark at %+v behind %d", position, version)
					}
					if pending := writtenAt(version + 1); batch.Freshness.LastContact.IsZero() || batch.Freshness.LastContact.After(pending) {
						t.Errorf("as of %s, but lacks a change of %s", batch.Freshness.LastContact, pending)
					}
				}
			})
		})
	}
}

// TestWatcher_RequestedBookmarkFollowsTheNextBatch requests a bookmark before a change and in silence.
func TestWatcher_RequestedBookmarkFollowsTheNextBatch(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		w := startedWatcher(t, c, Query{})
		began := time.Now()
		w.RequestBookmark()
		expect(t, w, "BOOKMARK at 10")
		must(t, c.Add(pod(t, "a", 11)))
		w.RequestBookmark()
		expect(t, w, "ADDED default/a@11 at 11")
		must(t, c.Update(pod(t, "a", 12)))
		expect(t, w, "BOOKMARK at 11")
		expect(t, w, "MODIFIED default/a@12 at 12")
		if waited := time.Since(began); waited > interval/2 {
			t.Errorf("waited %s", waited)
		}
	})
}

// TestWatcher_RescopeDropsAPendingBookmark switches to other namespaces between a batch and the
// bookmark behind it, whose position is of the old selection.
func TestWatcher_RescopeDropsAPendingBookmark(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		w := startedWatcher(t, c, Query{Namespaces: []string{"default"}})
		must(t, c.Add(pod(t, "a", 11)))
		w.RequestBookmark()
		expect(t, w, "ADDED default/a@11 at 11")
		w.Rescope(selectFrom(t, c, Query{Namespaces: []string{}}))
		expect(t, w, "DELETED default/a@11 at 11")
		expect(t, w, "BOOKMARK at 11")
	})
}

// TestWatcher_SendsABookmarkOnlyAfterItsEvents has a change that arrives at the very moment of the
// bookmark.
func TestWatcher_SendsABookmarkOnlyAfterItsEvents(t *testing.T) {
	for range 50 { // both are ready at the same time: either may be first
		faketime.Test(t, func(t *testing.T) {
			c := syncedPods(t, 10)
			r := newReader(t, c, Query{})
			r.watcher.options.Bookmarks = interval
			r.drain(t)
			go func() {
				time.Sleep(interval)
				_ = c.Add(pod(t, "a", 11))
			}()
			for len(r.held) == 0 {
				batch, err := r.watcher.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				r.latest = batch.compacted
				for _, event := range batch.Events {
					if wrong := r.apply(event); wrong != "" {
						t.Fatal(wrong)
					}
					if event.Type == Bookmark && event.ResourceVersion == "11" && len(r.held) == 0 {
						t.Fatal("a bookmark at 11 before the change at 11")
					}
				}
			}
		})
	}
}

func TestWatcher_NextReturnsTheCauseOfItsContext(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		w := startedWatcher(t, syncedPods(t, 10), Query{})
		why := errors.New("the caller has disconnected")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(why)
		}()
		if batch, err := w.Next(ctx); !errors.Is(err, why) || len(batch.Events) != 0 {
			t.Errorf("got %v, %v", batch.Events, err)
		}
	})
}

func TestCache_EndWakesItsWatchers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		w := startedWatcher(t, c, Query{})
		go func() {
			time.Sleep(time.Second)
			c.end(ErrClosed)
		}()
		if _, err := w.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("the watch ended with %v", err)
		}
	})
}

func TestReady_ReturnsAfterTheFirstSnapshot(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := podCache(1)
		ready := make(chan error, 1)
		go func() { ready <- c.ready(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-ready:
			t.Fatalf("ready before the first snapshot: %v", err)
		default:
		}
		must(t, c.Replace(nil, "1"))
		if err := <-ready; err != nil {
			t.Error(err)
		}
	})
}

// TestCache_IsSafeForConcurrentReadersAndAWriter is for the race detector.
func TestCache_IsSafeForConcurrentReadersAndAWriter(t *testing.T) {
	const last = 2000
	c := podCache(20_000)
	must(t, c.Replace(items(pod(t, "a", 1)), "1"))
	done := make(chan string)
	for range 4 {
		go func() {
			r := newReader(t, c, Query{LabelSelector: "!app"})
			for r.version != last {
				batch, err := r.watcher.Next(t.Context())
				r.latest = batch.compacted
				for _, event := range batch.Events {
					if wrong := r.apply(event); wrong != "" {
						done <- wrong
						return
					}
				}
				if err != nil {
					done <- err.Error()
					return
				}
				listOf(t, c, r.watcher.selection)
			}
			done <- ""
		}()
	}
	for version := 2; version <= last; version++ {
		must(t, c.Update(pod(t, fmt.Sprint("pod-", version%7), version)))
	}
	for range 4 {
		if wrong := <-done; wrong != "" {
			t.Error(wrong)
		}
	}
}

// TestWatchOptions_ZeroValueHasTheDefaultInterval has no changes, so that Next waits for bookmarks.
func TestWatchOptions_ZeroValueHasTheDefaultInterval(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, pod(t, "a", 3))
		w := c.watch(selectFrom(t, c, Query{}), WatchOptions{})
		defer w.Close()
		expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
		for range 3 {
			began := time.Now()
			expect(t, w, "BOOKMARK at 10")
			if waited := time.Since(began); waited != defaultBookmarks {
				t.Errorf("a bookmark after %v, want %v", waited, defaultBookmarks)
			}
		}
	})
}

// TestWatchers_MatchChangesInSlotsOfTheirCallers has two watchers with one question. The caller of the
// first one, which begins the batch, gets no processor slot. The second one must not wait for it, and
// the first one loses nothing when its caller's context ends meanwhile.
func TestWatchers_MatchChangesInSlotsOfTheirCallers(t *testing.T) {
	for name, query := range map[string]Query{
		"filter": {Filter: filterOf(t, "object.metadata.name != 'x'")},
		"fields": {Fields: fieldsOf(t, "spec.nodeName")},
	} {
		t.Run(name, func(t *testing.T) {
			c := syncedPods(t, 10)
			busy, free := fairqueue.New(fairqueue.Limits{Total: 1}), fairqueue.New(fairqueue.Limits{Total: 1})
			first, second := newReader(t, c, query), newReader(t, c, query)
			first.drain(t)
			second.drain(t)
			for i := range shortWork {
				must(t, c.Update(on(t, "a", []string{"node-1", "node-2"}[i%2], 11+i)))
			}
			release, _ := busy.TryAcquire("other", 1)
			ctx, cancel := context.WithCancelCause(fairqueue.With(t.Context(), busy, "first"))
			failed := make(chan error)
			go func() {
				_, err := first.watcher.Next(ctx)
				failed <- err
			}()
			for busy.Use().Waiting == 0 {
				select {
				case err := <-failed:
					t.Fatal("changes are matched without a slot:", err)
				default:
				}
			}
			batch, err := second.watcher.Next(fairqueue.With(t.Context(), free, "second"))
			if err != nil || len(batch.Events) == 0 {
				t.Fatalf("%d events, %v", len(batch.Events), err)
			}
			left := errors.New("left")
			cancel(left)
			if err := <-failed; !errors.Is(err, left) {
				t.Fatalf("the first watcher ended with %v", err)
			}
			release()
			again, err := first.watcher.Next(fairqueue.With(t.Context(), busy, "first"))
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, describeAll(batch.Events, describeEvent), describeAll(again.Events, describeEvent))
		})
	}
}

// TestWatcher_ReadsChangesInTurns has a turn of the caller's streams that lasts. What a watcher begins with does not
// wait for it. Changes wait for it, those that are there already too, and are then read at once with those that
// have come meanwhile.
func TestWatcher_ReadsChangesInTurns(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		ctx := fairqueue.WithPace(fairqueue.With(t.Context(), fairqueue.New(fairqueue.Limits{Total: 4}), "jane"), fairqueue.NewPace(0.5))
		end, err := fairqueue.BeginTurn(ctx)
		must(t, err)
		watcher := newReader(t, c, Query{}).watcher
		defer watcher.Close()
		for synced := false; !synced; {
			batch, err := watcher.Next(ctx)
			must(t, err)
			synced = batch.Events[len(batch.Events)-1].Type == Synced
		}
		must(t, c.Update(on(t, "a", "node-1", 11)))
		read := make(chan Batch, 1)
		go func() {
			batch, err := watcher.Next(ctx)
			if err != nil {
				t.Error(err)
			}
			read <- batch
		}()
		synctest.Wait()
		select {
		case batch := <-read:
			t.Fatalf("%d changes are read before the turn", len(batch.Events))
		default:
		}
		must(t, c.Update(on(t, "b", "node-1", 12)))
		end()
		if batch := <-read; len(batch.Events) != 2 {
			t.Errorf("the turn has %d changes, want both", len(batch.Events))
		}
	})
}

func fieldsOf(t testing.TB, paths ...string) *mask.Mask {
	t.Helper()
	fields, err := mask.Parse(paths)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestWatcher_SendsNoChangesOutsideItsMask(t *testing.T) {
	c := podCache(1 << 20)
	at := func(version, node, app string) *Object {
		return podObject(t, traits{Namespace: "default", Name: "a", UID: "u", Version: version, Labels: map[string]string{"app": app}, Node: node})
	}
	must(t, c.Replace(items(at("1", "node-1", "web")), "1"))
	r := newReader(t, c, Query{Fields: fieldsOf(t, "spec.nodeName"), LabelSelector: "app!=gone"})
	r.drain(t)
	must(t, c.Update(at("2", "node-1", "db")))
	must(t, c.Update(at("3", "node-2", "db")))
	must(t, c.Update(at("4", "node-2", "gone")))
	must(t, c.Update(at("5", "node-2", "web")))
	must(t, c.Update(at("6", "node-2", "db")))
	checkSame(t, []string{
		"MODIFIED default/a@3 at 3", "DELETED default/a@3 at 4", "ADDED default/a@5 at 5",
	}, r.drain(t))
	if r.behind.Version != "6" {
		t.Errorf("the position is %s", r.behind.Version)
	}
	checkSame(t, []string{`default/a u {"spec":{"nodeName":"node-2"}}`}, r.holds())
}
