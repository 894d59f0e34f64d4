package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waiting acquires in a goroutine and sends the key when it has been granted.
func waiting(t *testing.T, q *Queue, key string, weight int64, granted chan<- string) {
	t.Helper()
	go func() {
		release, err := q.Acquire(t.Context(), key, weight)
		if err != nil {
			return
		}
		granted <- key
		release()
	}()
	synctest.Wait()
}

func acquired(t *testing.T, q *Queue, key string, weight int64) (release func()) {
	t.Helper()
	release, ok := q.TryAcquire(key, weight)
	if !ok {
		t.Fatalf("%s cannot have %d at once", key, weight)
	}
	return release
}

func TestQueue_KeysTakeTurns(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 1, Waiting: 10})
		release, granted := acquired(t, q, "many", 1), make(chan string, 10)
		for _, key := range []string{"many", "many", "many", "one", "other", "one"} {
			waiting(t, q, key, 1, granted)
		}
		release()
		synctest.Wait()
		close(granted)
		var order []string
		for key := range granted {
			order = append(order, key)
		}
		if want := []string{"one", "other", "many", "one", "many", "many"}; !slices.Equal(order, want) {
			t.Errorf("granted in the order %v, want %v", order, want)
		}
	})
}

func TestQueue_KeyThatHoldsLeastIsNext(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 3, Waiting: 10})
		acquired(t, q, "many", 2)
		release, granted := acquired(t, q, "few", 1), make(chan string, 2)
		waiting(t, q, "many", 1, granted)
		waiting(t, q, "one", 1, granted)
		release()
		if first := <-granted; first != "one" {
			t.Errorf("%s was next, which holds more than one", first)
		}
		<-granted
		synctest.Wait()
	})
}

func TestQueue_BoundsEachKey(t *testing.T) {
	q := New(Limits{Total: 10, PerKey: 4})
	release := acquired(t, q, "a", 4)
	if _, ok := q.TryAcquire("a", 1); ok {
		t.Error("a holds more than the limit of one key")
	}
	if _, err := q.Acquire(t.Context(), "a", 1); !errors.Is(err, ErrFull) {
		t.Errorf("Acquire returned %v without waiting", err)
	}
	acquired(t, q, "b", 100) // counts as 4
	release()
	release() // has no effect
	if held := q.Held(); held != 4 {
		t.Errorf("%d is held, want 4", held)
	}
}

func TestQueue_KeyThatHadNothingIsBeforeOneThatHoldsNothingAnyMore(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 2, PerKey: 1, Waiting: 10})
		first, second, granted := acquired(t, q, "a", 1), acquired(t, q, "b", 1), make(chan string, 3)
		waiting(t, q, "a", 1, granted) // before the new key
		waiting(t, q, "b", 1, granted)
		waiting(t, q, "new", 1, granted)
		first()
		if next := <-granted; next != "new" {
			t.Errorf("%s was next, which had a part already", next)
		}
		second()
		synctest.Wait()
	})
}

// TestQueue_LittleDoesNotWaitBehindMuch has keys that take all that they can, and one more that waits for much.
func TestQueue_LittleDoesNotWaitBehindMuch(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		const total, perKey = 1 << 20, 1 << 18
		q := New(Limits{Total: total, PerKey: perKey, Waiting: 10})
		for _, key := range []string{"a", "b", "c"} {
			acquired(t, q, key, perKey)
		}
		granted := make(chan string, 20)
		waiting(t, q, "large", perKey, granted)
		for i := range total / reserveDivisor / (total / littleDivisor) {
			acquired(t, q, string(rune('A'+i)), total/littleDivisor)
		}
		if _, ok := q.TryAcquire("more", total/littleDivisor); ok {
			t.Error("the reserve is used up, and little overtakes much")
		}
		if _, ok := q.TryAcquire("A", 1); ok {
			t.Error("a key that does not hold little overtakes much")
		}
		waiting(t, q, "little", 1, granted)
		if len(granted) > 0 {
			t.Errorf("%s was granted", <-granted)
		}
	})
}

func TestQueue_MuchDoesNotWaitForTheReserve(t *testing.T) {
	q := New(Limits{Total: 1 << 20, PerKey: 1 << 18, Waiting: 1})
	for _, key := range []string{"a", "b", "c"} {
		acquired(t, q, key, 1<<18)
	}
	acquired(t, q, "little", 1<<12)
	acquired(t, q, "d", 1<<18-1<<16) // all but the reserve
	if _, ok := q.TryAcquire("e", 1<<13); ok {
		t.Error("the reserve is taken")
	}
}

// heavy makes keys hold their part for ten seconds, and wait for much of it again.
func heavy(t *testing.T, q *Queue, keys []string, part int64, granted chan<- string) (release []func()) {
	t.Helper()
	for _, key := range keys {
		release = append(release, acquired(t, q, key, part))
	}
	for _, key := range keys {
		waiting(t, q, key, part, granted)
	}
	time.Sleep(10 * time.Second)
	return release
}

func TestQueue_KeyThatHasUsedLessIsNext(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q, granted := New(Limits{Total: 4, PerKey: 1, Waiting: 10}), make(chan string, 10)
		release := heavy(t, q, []string{"a", "b", "c", "d"}, 1, granted)
		waiting(t, q, "light", 1, granted) // after the others
		release[0]()                       // a holds nothing any more
		if next := <-granted; next != "light" {
			t.Errorf("%s was next, which has used more", next)
		}
		for _, end := range release {
			end()
		}
		synctest.Wait()
	})
}

func TestQueue_KeyThatHasUsedLessOvertakesWhatDoesNotFit(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q, granted := New(Limits{Total: 100, PerKey: 30, Waiting: 10}), make(chan string, 10)
		release := heavy(t, q, []string{"a", "b", "c"}, 30, granted) // ten are free, and each waits for thirty
		acquired(t, q, "light", 10)()
		for _, end := range release {
			end()
		}
		synctest.Wait()
	})
}

func TestQueue_DelaysOnlyKeysThatHaveUsedMore(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q, granted := New(Limits{Total: 100, PerKey: 30, Waiting: 10}), make(chan string, 10)
		release := heavy(t, q, []string{"a", "b", "c"}, 30, granted)
		light := acquired(t, q, "light", 1)
		time.Sleep(5 * time.Second)
		if q.Delays("light") {
			t.Error("a key that has used little delays those that have used much")
		}
		waiting(t, q, "new", 30, granted)
		if !q.Delays("a") || !q.Delays("light") {
			t.Error("keys that have used more do not delay one that has used nothing")
		}
		light()
		for _, end := range release {
			end()
		}
		synctest.Wait()
	})
}

func TestQueue_ForgetsWhatWasUsedLongAgo(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 10, Waiting: 10})
		for i := range 1000 {
			release := acquired(t, q, fmt.Sprint(i), 10)
			time.Sleep(time.Second)
			release()
		}
		if known := len(q.keys); known > 1000 {
			t.Errorf("%d keys are known", known)
		}
		time.Sleep(time.Hour)
		for i := range 3 * 1000 {
			acquired(t, q, fmt.Sprint("short", i), 10)()
		}
		if known := len(q.keys); known > minSweep {
			t.Errorf("%d keys are known after an hour", known)
		}
	})
}

func TestQueue_LargeAcquisitionIsNotOvertaken(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 10, Waiting: 1})
		first, granted := acquired(t, q, "a", 6), make(chan string, 1)
		waiting(t, q, "large", 9, granted)
		if _, ok := q.TryAcquire("small", 1); ok {
			t.Error("the small acquisition overtook the large one")
		}
		first()
		<-granted
		synctest.Wait()
	})
}

func TestQueue_CancelledAcquisitionUnblocksOthers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 10, Waiting: 1})
		hold, granted := acquired(t, q, "a", 6), make(chan string, 1)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := q.Acquire(ctx, "large", 9)
			left <- err
		}()
		synctest.Wait()
		waiting(t, q, "small", 1, granted)
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire returned %v", err)
		}
		<-granted
		hold()
		synctest.Wait()
		if len(q.keys) > 0 || len(q.waiting) > 0 {
			t.Errorf("the queue keeps %d keys that hold nothing", len(q.keys))
		}
	})
}

func TestYield_PassesTheSlotToAWaiter(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 1, Waiting: 1})
		ctx, end, err := Begin(With(t.Context(), q, "long"))
		if err != nil {
			t.Fatal(err)
		}
		granted := make(chan string, 1)
		waiting(t, q, "short", 1, granted)
		if err := Yield(ctx); err != nil || len(granted) > 0 {
			t.Error("the slot was passed on too early")
		}
		time.Sleep(quantum)
		if err := Yield(ctx); err != nil || len(granted) == 0 {
			t.Errorf("the slot was not passed on: %v", err)
		}
		end()
		if held := q.Held(); held != 0 {
			t.Errorf("%d is held at the end", held)
		}
	})
}

// TestPass_LetsOnlyOthersHaveATurn has long work that others wait for, or further work of the same key.
func TestPass_LetsOnlyOthersHaveATurn(t *testing.T) {
	for name, test := range map[string]struct {
		waits  string
		passed bool
	}{"another key": {"short", true}, "the key at its limit": {"long", false}} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				q, granted := New(Limits{Total: 2, PerKey: 1, Waiting: 1}), make(chan string, 1)
				release, rest := acquired(t, q, "long", 1), acquired(t, q, "rest", 1)
				waiting(t, q, test.waits, 1, granted)
				release, err := q.Pass(t.Context(), "long", 1, release)
				if passed := len(granted) > 0; err != nil || passed != test.passed || q.Held() != 2 {
					t.Errorf("passed: %t, held: %d, %v", passed, q.Held(), err)
				}
				rest()
				release()
				synctest.Wait()
				if held := q.Held(); held != 0 {
					t.Errorf("%d is held at the end", held)
				}
			})
		})
	}
}

// TestPass_EndsWithItsContext has another key keep what was passed on to it.
func TestPass_EndsWithItsContext(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 1, Waiting: 1})
		release := acquired(t, q, "long", 1)
		kept := make(chan func(), 1)
		go func() {
			keep, err := q.Acquire(t.Context(), "other", 1)
			if err != nil {
				t.Error(err)
			}
			kept <- keep
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		release, err := q.Pass(ctx, "long", 1, release)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("passed on, and acquired again: %v", err)
		}
		if release(); q.Held() != 1 {
			t.Errorf("%d is held by another key", q.Held())
		}
		(<-kept)()
	})
}

func TestWithMeter_ReportsTheTimeOfSlotsWithoutTheTimeOfWaiting(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q, used := New(Limits{Total: 1, Waiting: 1}), time.Duration(0)
		work := WithMeter(t.Context(), q, "a", func(held time.Duration) { used += held })
		want := func(seconds time.Duration) {
			t.Helper()
			if used != seconds*time.Second {
				t.Errorf("%v are reported, want %ds", used, seconds)
			}
		}
		ctx, end, err := Begin(work)
		if err != nil {
			t.Fatal(err)
		}
		_, endInner, _ := Begin(ctx)
		time.Sleep(time.Second)
		endInner()
		want(0)
		if err := Yield(ctx); err != nil {
			t.Fatal(err)
		}
		want(1)
		go func() { // waits for the slot, and holds it for ten seconds
			release, _ := q.Acquire(t.Context(), "b", 1)
			time.Sleep(10 * time.Second)
			release()
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		if err := Yield(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		end()
		end()
		want(3)
		synctest.Wait()
	})
}

func TestKey_ReturnsTheKeyOfTheCaller(t *testing.T) {
	ctx := With(t.Context(), New(Limits{Total: 1}), "a")
	if got, none := Key(ctx), Key(t.Context()); got != "a" || none != "" {
		t.Errorf("keys %q and, without a queue, %q", got, none)
	}
}

func TestYield_EndsWorkWhoseCallerHasLeft(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	ctx, end, err := Begin(With(ctx, New(Limits{Total: 1}), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	cancel(gone)
	if err := Yield(ctx); !errors.Is(err, gone) {
		t.Errorf("Yield returned %v", err)
	}
}

// TestQueue_KeepsItsLimits tries random weights of random keys, with random cancellations.
func TestQueue_KeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := Limits{
			Total:   rapid.Int64Range(1, 6).Draw(rt, "total"),
			PerKey:  rapid.Int64Range(0, 6).Draw(rt, "per key"),
			Waiting: rapid.IntRange(0, 3).Draw(rt, "waiting"),
		}
		type acquisition struct {
			key    string
			shared bool // with the next key, with a weight of 1
			weight int64
			leaves time.Duration
			holds  time.Duration
		}
		keys := []string{"a", "b", "c"}
		all := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) acquisition {
			return acquisition{
				key:    rapid.SampledFrom(keys).Draw(rt, "key"),
				shared: rapid.Bool().Draw(rt, "shared"),
				weight: rapid.Int64Range(0, 7).Draw(rt, "weight"),
				leaves: time.Duration(rapid.IntRange(0, 30).Draw(rt, "leaves")),
				holds:  time.Duration(rapid.IntRange(0, 5).Draw(rt, "holds")),
			}
		}), 1, 30).Draw(rt, "acquisitions")
		faketime.Test(t, func(t *testing.T) {
			q := New(limits)
			var group sync.WaitGroup
			for _, a := range all {
				group.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), a.leaves)
					defer cancel()
					key, acquire := a.key, func() (func(), error) { return q.Acquire(ctx, a.key, a.weight) }
					if a.shared {
						both := []string{a.key, keys[(slices.Index(keys, a.key)+1)%len(keys)]}
						acquire = func() (release func(), err error) {
							key, release, err = q.acquireFor(ctx, func() ([]string, <-chan struct{}) { return both, nil })
							return release, err
						}
					}
					release, err := acquire()
					if err != nil {
						return
					}
					q.mu.Lock()
					if q.held > limits.Total || limits.PerKey > 0 && q.keys[key] != nil && q.keys[key].held > limits.PerKey {
						rt.Errorf("%d is held in all", q.held)
					}
					q.mu.Unlock()
					time.Sleep(a.holds)
					release()
				})
			}
			group.Wait()
			if q.held != 0 || len(q.keys) > 0 || len(q.waiting) > 0 || q.waiters != 0 {
				rt.Errorf("%d is held at the end, by %d keys", q.held, len(q.keys))
			}
		})
	})
}

func TestQueue_ReportsWhetherAKeyDelaysOthers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 10, PerKey: 8, Waiting: 10})
		wantDelays := func(want bool, key, when string) {
			t.Helper()
			if got := q.Delays(key); got != want {
				t.Errorf("%s: %s delays others: %t, want %t", when, key, got, want)
			}
		}
		release, granted := acquired(t, q, "many", 8), make(chan string, 2)
		less := acquired(t, q, "less", 1)
		wantDelays(false, "many", "nobody waits")
		wantDelays(false, "none", "it holds nothing")
		waiting(t, q, "few", 2, granted)
		wantDelays(true, "many", "a key with less waits for the total")
		wantDelays(true, "less", "a key with less waits for the total")
		less()
		<-granted
		waiting(t, q, "many", 1, granted)
		wantDelays(true, "many", "its own waits")
		wantDelays(false, "few", "the other waits for its own limit")
		release()
		<-granted
		synctest.Wait()
		wantDelays(false, "many", "all have what they want")
	})
}

// TestBegin_WaitsInTheQueuesOfAllPayers has work of two payers, for one of which ten others wait.
func TestBegin_WaitsInTheQueuesOfAllPayers(t *testing.T) {
	for name, joinsLater := range map[string]bool{"from the beginning": false, "joined by a payer while it waits": true} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				q := New(Limits{Total: 1})
				release, _ := q.TryAcquire("other", 1)
				ctx, cancel := context.WithCancel(t.Context())
				var busy sync.WaitGroup
				for range 10 {
					busy.Go(func() {
						if _, end, err := Begin(With(ctx, q, "busy")); err == nil {
							time.Sleep(time.Hour)
							end()
						}
					})
				}
				synctest.Wait()
				used := make(map[string]time.Duration)
				payerOf := func(key string) Payer {
					return PayerOf(WithMeter(ctx, q, key, func(held time.Duration) { used[key] += held }))
				}
				payers, changed := []Payer{payerOf("busy"), payerOf("idle")}, make(chan struct{})
				if joinsLater {
					payers = payers[:1]
				}
				begun := make(chan struct{})
				go func() {
					defer close(begun)
					shared := WithPayers(With(t.Context(), q, "busy"), func() ([]Payer, <-chan struct{}) { return payers, changed })
					_, end, err := Begin(shared)
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Second)
					end()
				}()
				synctest.Wait()
				if joinsLater {
					joined := changed
					payers, changed = payers[:2], make(chan struct{})
					close(joined)
					synctest.Wait()
				}
				if waiting := q.Use().Waiting; waiting != 11 {
					t.Errorf("%d acquisitions wait, want 11", waiting)
				}
				at := time.Now()
				release()
				<-begun
				if waited := time.Since(at) - time.Second; waited > time.Hour {
					t.Errorf("the work waits for %v", waited)
				}
				if used["busy"] != 0 || used["idle"] != time.Second {
					t.Errorf("the payers have paid for %v", used)
				}
				cancel()
				busy.Wait()
				if q.held > 0 || len(q.waiting) > 0 || q.waiters > 0 {
					t.Errorf("%d is held, and %d acquisitions remain", q.held, q.waiters)
				}
			})
		})
	}
}

// TestBegin_LeavesTheQueuesOfPayersThatHaveLeft has work that waits while its payers change, until its
// caller leaves.
func TestBegin_LeavesTheQueuesOfPayersThatHaveLeft(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 1})
		release, _ := q.TryAcquire("other", 1)
		defer release()
		payers, changed := []Payer{{key: "a"}, {key: "b"}}, make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := Begin(WithPayers(With(ctx, q, "a"), func() ([]Payer, <-chan struct{}) { return payers, changed }))
			ended <- err
		}()
		synctest.Wait()
		before := changed
		payers, changed = []Payer{{key: "b"}, {key: "c"}}, make(chan struct{})
		close(before)
		synctest.Wait()
		if q.keys["a"] != nil || q.keys["b"] == nil || q.keys["c"] == nil {
			t.Errorf("it waits for %v", slices.Collect(maps.Keys(q.keys)))
		}
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Begin returned %v", err)
		}
		if len(q.waiting) > 0 || q.waiters > 0 {
			t.Errorf("%d acquisitions remain", q.waiters)
		}
	})
}

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
