package budget

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// batchOf returns a batch with one object of about the given size.
func batchOf(t *testing.T, bytes int) informerhub.Batch {
	t.Helper()
	pod := objecttest.Pod("a", 1)
	pod.Annotations = map[string]string{"large": strings.Repeat("x", bytes)}
	return informerhub.Batch{Events: []informerhub.Event{{Type: informerhub.Added, Object: objecttest.PodObject(t, pod), ResourceVersion: "1"}}}
}

func TestSendMemory_IsBoundedForEachCaller(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		queue, large, small := NewMessageQueue(), batchOf(t, 100<<10), batchOf(t, 1<<10)
		most := queue.Use().Capacity / messagesDivisor
		jane, joe := Messages{queue, "jane"}, Messages{queue, "joe"}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		held := make(chan Held, 100)
		for range cap(held) {
			go func() {
				if one, err := jane.Reserve(ctx, large, 0, false); err == nil {
					held <- one
				}
			}()
		}
		synctest.Wait()
		if of := queue.Held(); of > most || of < most/2 {
			t.Errorf("one caller holds %d bytes, want at most %d", of, most)
		}
		first := <-held
		if !first.Awaited() {
			t.Error("no other acquisition waits for the memory")
		}
		if one, err := jane.Reserve(t.Context(), small, 0, false); err != nil || one.Awaited != nil {
			t.Errorf("a small change waits with the large ones: %v", err)
		}
		others, err := joe.Reserve(t.Context(), large, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		if others.Awaited() {
			t.Error("another caller is reported to delay others")
		}
		others.Release()
		count := len(held)
		first.Release()
		synctest.Wait()
		if len(held) != count+1 {
			t.Errorf("%d more are sent when one has been, want 1", len(held)-count)
		}
	})
}

func TestSendMemory_CountsWhatABatchTakes(t *testing.T) {
	for name, test := range map[string]struct {
		batch    informerhub.Batch
		decoded  bool
		from, to int
	}{
		"a small object":         {batchOf(t, 1<<10), false, 4 << 10, 8 << 10},
		"a large object":         {batchOf(t, 1<<20), false, 4 << 20, 5 << 20},
		"a small object as JSON": {batchOf(t, 1<<10), true, 49 << 10, 80 << 10},
	} {
		if size := messageBytes(test.batch, 0, test.decoded); size < test.from || size > test.to {
			t.Errorf("%s counts as %d bytes, want %d to %d", name, size, test.from, test.to)
		}
	}
}
