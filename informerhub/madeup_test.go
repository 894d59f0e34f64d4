package informerhub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// Anyone can make up a version that the cluster has not come to. Those who do share what they
// cost the API server.
func TestWatch_MadeUpVersionsShareQuestions(t *testing.T) {
	for name, version := range map[string]string{"near": "15", "far": "9000000000000", "too long to count": "99999999999999999999999"} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t, coreResources, widgetResources)
			api.setCurrent("10")
			hub := hubOf(t, api.config())
			answered := ask(t.Context(), hub, widgets)
			snapshotOfWidgets(t, api, "10", "red")
			got := <-answered
			must(t, got.err)
			api.mu.Lock()
			before := api.currents
			api.mu.Unlock()
			began := time.Now()
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					w := got.cache.Watch(selectFrom(t, got.cache, Query{}), WatchOptions{Since: &Position{Version: version}, Patience: time.Second})
					defer w.Close()
					batch, err := w.Next(t.Context())
					if err != nil || batch.Events[0].Type != Reset {
						t.Errorf("is told %v (%v)", batch.Events, err)
					}
				})
			}
			all.Wait()
			api.mu.Lock()
			defer api.mu.Unlock()
			// Beside those who watch, the cache itself has asked.
			if asked, most := api.currents-before, turnBurst+int(turnsPerSecond*time.Since(began).Seconds())+3; asked > most {
				t.Errorf("the API server is asked %d times, want %d at most", asked, most)
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

func TestRecall_AVersionThatIsTooOldIsAskedForOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := syncedPods(t, 100, pod(t, "a", 50))
		api := &expiring{replicas: &replicas{version: 100}}
		c.history = api
		for _, version := range []string{"20", "20", "7", "19"} {
			if lines := nextLines(t, resumed(t, c, Query{}, Position{Version: version})); lines[0] != "RESET at 100" {
				t.Errorf("from %s, is told %v", version, lines)
			}
		}
		if api.asked != 1 {
			t.Errorf("asked %d times", api.asked)
		}
		nextLines(t, resumed(t, c, Query{}, Position{Version: "30"}))
		time.Sleep(historyPause)
		nextLines(t, resumed(t, c, Query{}, Position{Version: "7"}))
		if api.asked != 3 {
			t.Errorf("asked %d times, want again for a newer version, and after a while", api.asked)
		}
	})
}

// A field that the API server does not know costs it one question in a while, whoever asks.
func TestSelectableFields_MadeUpNamesShareQuestions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var asked, atOnce atomic.Int32
		fields := newSelectableFields(widgets, func(context.Context, string) error {
			asked.Add(1)
			if atOnce.Add(1) > 1 {
				t.Error("two questions at a time")
			}
			defer atOnce.Add(-1)
			time.Sleep(time.Millisecond)
			return apierrors.NewBadRequest("field label not supported")
		})
		queue := fairqueue.New(fairqueue.Limits{Total: 1})
		find := func(caller, field string) error {
			_, err := fields.find(fairqueue.With(t.Context(), queue, caller), field)
			return err
		}
		var all sync.WaitGroup
		for i := range 10 {
			for range 10 {
				all.Go(func() {
					if err := find(fmt.Sprint("caller-", i), "spec.made.up"); !apierrors.IsBadRequest(err) {
						t.Errorf("is told %v", err)
					}
				})
			}
		}
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("the API server is asked %d times about one field", asked.Load())
		}

		// One caller makes up names; another, who comes later, waits for one of them at most.
		began, refused := time.Now(), atomic.Int32{}
		for i := range 100 {
			all.Go(func() {
				if err := find("hostile", fmt.Sprint("spec.field-", i)); apierrors.IsTooManyRequests(err) {
					refused.Add(1)
				}
			})
		}
		time.Sleep(2 * time.Second)
		waited := time.Now()
		if err := find("good", "spec.other"); !apierrors.IsBadRequest(err) {
			t.Errorf("a good caller is told %v", err)
		}
		if wait := time.Since(waited); wait > 2*time.Second {
			t.Errorf("a good caller waits for %s", wait)
		}
		all.Wait()
		if got := refused.Load(); got < 80 {
			t.Errorf("%d of 100 made-up names are refused", got)
		}
		if most := int32(time.Since(began).Seconds()*turnsPerSecond) + turnBurst + 2; asked.Load() > most {
			t.Errorf("the API server is asked %d times in %s", asked.Load(), time.Since(began))
		}
		before := asked.Load()
		time.Sleep(fieldMissesRemembered)
		if err := find("good", "spec.made.up"); !apierrors.IsBadRequest(err) || asked.Load() != before+1 {
			t.Errorf("after a while the API server is asked %d times more (%v)", asked.Load()-before, err)
		}
	})
}

func TestSelectableFields_WhatIsNotAnsweredIsNotRemembered(t *testing.T) {
	asked := 0
	fields := newSelectableFields(widgets, func(context.Context, string) error {
		asked++
		return errors.New("away")
	})
	for range 2 {
		if _, err := fields.find(t.Context(), "spec.color"); err == nil {
			t.Error("found without an answer")
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}
