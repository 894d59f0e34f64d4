package informerhub

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

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
