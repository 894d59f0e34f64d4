package fairqueue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// TestPace_BoundsTheWorkOfAKey has many works of one key, each of which takes 10 ms of a processor, and
// one work of another key.
func TestPace_BoundsTheWorkOfAKey(t *testing.T) {
	for name, share := range map[string]float64{"half of a processor": 0.5, "two processors": 2} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				pace, processors := NewPace(share), New(Limits{Total: 4})
				ctxOf := func(key string) context.Context {
					return WithPace(With(t.Context(), processors, key), pace)
				}
				const works, each = 200, 10 * time.Millisecond
				began := time.Now()
				var all sync.WaitGroup
				for range works {
					all.Go(func() {
						end, err := BeginTurn(ctxOf("many"))
						if err != nil {
							t.Error(err)
							return
						}
						defer end()
						time.Sleep(each)
						pace.Use("many", each)
					})
				}
				time.Sleep(time.Second)
				at := time.Now()
				end, err := BeginTurn(ctxOf("one"))
				if err != nil || time.Since(at) != 0 {
					t.Errorf("another key waits for %v: %v", time.Since(at), err)
				}
				end()
				all.Wait()
				minimum := time.Duration(float64(works*each)/share) - paceCredit - 2*each
				if took := time.Since(began); took < minimum || took > minimum+paceCredit+4*each {
					t.Errorf("the works took %v, want %v to %v", took, minimum, minimum+paceCredit)
				}
			})
		})
	}
}

func TestPace_EndsWorkThatIsFarBehind(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		pace := NewPace(0.5)
		ctx := WithPace(With(t.Context(), New(Limits{Total: 1}), "a"), pace)
		end, err := BeginTurn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := BeginTurn(ctx); !errors.Is(err, ErrBehind) {
			t.Errorf("a turn that never comes: %v", err)
		}
		end()
		if end, err = BeginTurn(ctx); err != nil {
			t.Fatal(err)
		}
		end()
	})
}

// TestPace_DebtEnds has a key that has used several times its share for a minute, outside of turns. When that
// stops, the streams that are late and a new one get their turns within a bounded time.
func TestPace_DebtEnds(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		pace := NewPace(0.5)
		ctx := WithPace(With(t.Context(), New(Limits{Total: 1}), "a"), pace)
		for range 60 {
			pace.Use("a", 4*time.Second)
			time.Sleep(time.Second)
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 120 {
			all.Go(func() {
				end, err := BeginTurn(ctx)
				if err != nil {
					t.Errorf("after %v: %v", time.Since(began), err)
					return
				}
				pace.Use("a", time.Millisecond)
				end()
			})
		}
		all.Wait()
		if waited := time.Since(began); waited > maxPause {
			t.Errorf("the last turn comes after %v", waited)
		}
		time.Sleep(maxPaceDebt + paceCredit)
		at := time.Now()
		end, err := BeginTurn(ctx)
		if err != nil || time.Since(at) != 0 {
			t.Fatalf("when the debt should be paid, a turn comes after %v: %v", time.Since(at), err)
		}
		end()
	})
}

// TestPace_BoundsTheWholeWait has more works than can have their turns in time. No work waits for longer
// than maxPause in all, for its turn and in the pause.
func TestPace_BoundsTheWholeWait(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		pace := NewPace(0.5)
		ctx := WithPace(With(t.Context(), New(Limits{Total: 1}), "a"), pace)
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				began := time.Now()
				end, err := BeginTurn(ctx)
				if waited := time.Since(began); waited > maxPause || err != nil && !errors.Is(err, ErrBehind) {
					t.Errorf("a work has waited for %v: %v", waited, err)
				}
				if err == nil {
					pace.Use("a", 50*time.Millisecond)
					end()
				}
			})
		}
		all.Wait()
	})
}

func TestPace_ForgetsIdleKeys(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		pace := NewPace(1)
		for i := range 2 * manyPaces {
			pace.Use(string(rune('a'+i)), time.Millisecond)
			time.Sleep(time.Millisecond)
		}
		if len(pace.paid) > manyPaces+1 {
			t.Errorf("%d keys are kept", len(pace.paid))
		}
	})
}
