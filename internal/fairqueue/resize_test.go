package fairqueue

import (
	"errors"
	"testing"
	"testing/synctest"
)

func TestQueue_SetPerKeyAffectsTheNextAcquisition(t *testing.T) {
	q := New(Limits{Total: 100, PerKey: 1})
	release, ok := q.TryAcquire("a", 1)
	if _, more := q.TryAcquire("a", 1); !ok || more {
		t.Fatal("the limit of a key is 1")
	}
	q.SetPerKey(2)
	second, ok := q.TryAcquire("a", 1)
	if _, more := q.TryAcquire("a", 1); !ok || more {
		t.Error("the limit of a key is 2 now")
	}
	q.SetPerKey(1)
	second()
	if _, ok := q.TryAcquire("a", 1); ok {
		t.Error("the key holds 1 of 1")
	}
	release()
	q.SetPerKey(0)
	if _, ok := q.TryAcquire("a", 100); !ok {
		t.Error("without a limit, a key can hold everything")
	}
}

func TestQueue_SetPerKeyGrantsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 10, PerKey: 4, Waiting: 1})
		holding, _ := q.TryAcquire("a", 3)
		granted := make(chan func())
		go func() {
			release, err := q.Acquire(t.Context(), "a", 4)
			if err != nil {
				t.Error(err)
			}
			granted <- release
		}()
		synctest.Wait()
		if _, err := q.Acquire(t.Context(), "a", 1); !errors.Is(err, ErrFull) {
			t.Errorf("one acquisition waits, and another one gets %v", err)
		}
		q.SetPerKey(2) // the waiting acquisition counts as 2 now
		q.SetPerKey(5)
		release := <-granted
		if held := q.Held(); held != 5 {
			t.Errorf("%d is held, want 5", held)
		}
		release()
		holding()
		if held := q.Held(); held != 0 {
			t.Errorf("%d is held after everything was released", held)
		}
	})
}
