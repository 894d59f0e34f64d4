package fairqueue

import "testing"

// taken returns the weight that a key gets if it takes its maximum.
func taken(q *Queue, key string) (units int, last func()) {
	for {
		release, ok := q.TryShare(key, 1)
		if !ok {
			return units, last
		}
		units, last = units+1, release
	}
}

func TestTryShare_LeavesSomeForOthers(t *testing.T) {
	q := New(Limits{Total: 100})
	for key, want := range []int{50, 25, 12, 6, 3, 2, 1} {
		if got, _ := taken(q, string(rune('a'+key))); got != want {
			t.Errorf("key %d gets %d, want %d", key, got, want)
		}
	}
	if held := q.Held(); held >= 100 {
		t.Errorf("all of it is held: %d", held)
	}
}

func TestTryShare_KeepsTheLimitOfAKey(t *testing.T) {
	q := New(Limits{Total: 100, PerKey: 3})
	got, release := taken(q, "a")
	if got != 3 {
		t.Errorf("a gets %d", got)
	}
	release()
	if _, ok := q.TryShare("a", 1); !ok {
		t.Error("what a has released is not free")
	}
	if len(q.keys) != 1 {
		t.Errorf("%d keys are kept", len(q.keys))
	}
}
