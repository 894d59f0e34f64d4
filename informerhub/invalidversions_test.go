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

// Clients can send versions that the cluster has not reached. They share the requests to the API
// server that these cause.
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
						t.Errorf("received %v (%v)", batch.Events, err)
					}
				})
			}
			all.Wait()
			api.mu.Lock()
			defer api.mu.Unlock()
			// The cache itself has asked, too.
			if asked, most := api.currents-before, requestBurst+int(requestsPerSecond*time.Since(began).Seconds())+3; asked > most {
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

func TestRecall_AVersionThatIsTooOldIsAskedForOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := syncedPods(t, 100, pod(t, "a", 50))
		api := &expiring{replicas: &replicas{version: 100}}
		c.history = api
		for _, version := range []string{"20", "20", "7", "19"} {
			if lines := nextLines(t, resumed(t, c, Query{}, Position{Version: version})); lines[0] != "RESET at 100" {
				t.Errorf("from %s, received %v", version, lines)
			}
		}
		if api.asked != 1 {
			t.Errorf("the history was requested %d times", api.asked)
		}
		nextLines(t, resumed(t, c, Query{}, Position{Version: "30"}))
		time.Sleep(historyPause)
		nextLines(t, resumed(t, c, Query{}, Position{Version: "7"}))
		if api.asked != 3 {
			t.Errorf("the history was requested %d times, want again for a newer version, and after a while", api.asked)
		}
	})
}

// A field that the API server does not know causes one request in a while, for all callers.
func TestSelectableFields_MadeUpNamesShareQuestions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var asked, atOnce atomic.Int32
		fields := NewSelectableFields(widgets, func(context.Context, string) error {
			asked.Add(1)
			if atOnce.Add(1) > 1 {
				t.Error("two concurrent requests")
			}
			defer atOnce.Add(-1)
			time.Sleep(time.Millisecond)
			return apierrors.NewBadRequest("field label not supported")
		})
		queue := fairqueue.New(fairqueue.Limits{Total: 1})
		find := func(caller, field string) error {
			_, err := fields.Find(fairqueue.With(t.Context(), queue, caller), field)
			return err
		}
		var all sync.WaitGroup
		for i := range 10 {
			for range 10 {
				all.Go(func() {
					if err := find(fmt.Sprint("caller-", i), "spec.made.up"); !apierrors.IsBadRequest(err) {
						t.Errorf("error %v", err)
					}
				})
			}
		}
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("the API server was asked %d times about one field", asked.Load())
		}

		// One caller invents names; another one, who comes later, waits for at most one of them.
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
			t.Errorf("a well-behaved caller got %v", err)
		}
		if wait := time.Since(waited); wait > 2*time.Second {
			t.Errorf("a well-behaved caller waited for %s", wait)
		}
		all.Wait()
		if got := refused.Load(); got < 80 {
			t.Errorf("%d of 100 invalid names were rejected", got)
		}
		if most := int32(time.Since(began).Seconds()*requestsPerSecond) + requestBurst + 2; asked.Load() > most {
			t.Errorf("the API server was asked %d times in %s", asked.Load(), time.Since(began))
		}
		before := asked.Load()
		time.Sleep(fieldMissesRemembered)
		if err := find("good", "spec.made.up"); !apierrors.IsBadRequest(err) || asked.Load() != before+1 {
			t.Errorf("after a while the API server was asked %d times more (%v)", asked.Load()-before, err)
		}
	})
}

func TestSelectableFields_WhatIsNotAnsweredIsNotRemembered(t *testing.T) {
	asked := 0
	fields := NewSelectableFields(widgets, func(context.Context, string) error {
		asked++
		return errors.New("unreachable")
	})
	for range 2 {
		if _, err := fields.Find(t.Context(), "spec.color"); err == nil {
			t.Error("found without a response")
		}
	}
	if asked != 2 {
		t.Errorf("the API server was asked %d times", asked)
	}
}
