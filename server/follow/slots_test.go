package follow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// observed is a state that calls a function at each change.
type observed struct {
	change func(generation uint64)
}

func (s *observed) Change(_, _ *informerhub.Object, generation uint64) error {
	s.change(generation)
	return nil
}

func (*observed) Bytes() int { return 0 }

func TestFollower_ChangesItsStateInAProcessorSlot(t *testing.T) {
	c := newCluster(t, 3)
	processors := fairqueue.New(fairqueue.Limits{Total: 1})
	var held []string // slots in use at each change; written before the publication that is read
	state := &observed{func(generation uint64) { held = append(held, fmt.Sprint(generation, ":", processors.Held())) }}
	followers := NewFollowers[string, *observed](ledger.New(ledger.Limits{Total: 1 << 20}))
	question := Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}
	f, err := followers.Join(fairqueue.With(t.Context(), processors, "jane"), question, func(func(int) error) *observed { return state })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Leave(ledger.Account{})
	version := c.apply("pod-9", false)
	if err := c.cache.Await(t.Context(), version, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := f.Reach(t.Context(), informerhub.Position{Version: version}); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := f.Read(func(*observed, Moment) { got = strings.Join(held, " ") }); err != nil {
		t.Fatal(err)
	}
	if want := "0:1 0:1 0:1 2:1"; got != want {
		t.Errorf("generations and slots in use are %s, want %s", got, want)
	}
}

// TestRun_FillPassesItsSlotOn has objects each of which takes as long as a slot lasts.
func TestRun_FillPassesItsSlotOn(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		processors := fairqueue.New(fairqueue.Limits{Total: 1, Waiting: 1})
		var steps []string
		begun := make(chan struct{}) // closed at the first object
		state := &observed{func(uint64) {
			if steps = append(steps, "object"); len(steps) == 1 {
				close(begun)
			}
			time.Sleep(10 * time.Millisecond)
		}}
		free, _ := ledger.Account{}.Charge(0)
		r := &run[string, *observed]{
			Follower: &Follower[string, *observed]{charge: free},
			create:   func(func(int) error) *observed { return state },
			snapshot: map[string]*informerhub.Object{"a": nil, "b": nil, "c": nil},
		}
		go func() {
			<-begun
			release, err := processors.Acquire(t.Context(), "other", 1)
			if err != nil {
				t.Error(err)
				return
			}
			steps = append(steps, "other")
			release()
		}()
		if err := r.fill(fairqueue.With(t.Context(), processors, "jane"), "1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if want := []string{"object", "other", "object", "object"}; !slices.Equal(steps, want) {
			t.Errorf("steps are %v, want %v", steps, want)
		}
	})
}

// TestFollowers_ANewCallerSharesTheWaitForASlot has a follower that waits for a slot in the queue of a caller who
// has work for hours, when a stream of another caller joins it.
func TestFollowers_ANewCallerSharesTheWaitForASlot(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		processors := fairqueue.New(fairqueue.Limits{Total: 2, Waiting: 10})
		release, _ := processors.TryAcquire("other", 1)
		janes, leave := context.WithCancel(t.Context())
		for range 10 {
			go func() {
				if end, err := processors.Acquire(janes, "jane", 1); err == nil {
					<-janes.Done()
					end()
				}
			}()
		}
		synctest.Wait()
		l := ledger.New(ledger.Limits{Total: 1 << 20})
		followers := NewFollowers[string, *observed](l)
		f := &Follower[string, *observed]{all: followers, accounts: make(map[ledger.Account]*users), changed: make(chan struct{})}
		used := make(map[string]time.Duration)
		joinAs := func(caller string) {
			ctx := fairqueue.WithMeter(t.Context(), processors, caller, func(held time.Duration) { used[caller] += held })
			followers.mu.Lock()
			defer followers.mu.Unlock()
			followers.addStreamLocked(f, l.Account(caller, ""), fairqueue.PayerOf(ctx))
		}
		f.charge, _ = ledger.Account{}.Charge(0)
		joinAs("jane")
		r := &run[string, *observed]{
			Follower: f, snapshot: map[string]*informerhub.Object{"a": nil},
			create: func(func(int) error) *observed { return &observed{func(uint64) { time.Sleep(time.Millisecond) }} },
		}
		filled := make(chan error, 1)
		go func() {
			filled <- r.fill(followers.sharedWork(fairqueue.With(t.Context(), processors, "jane"), f), "1")
		}()
		synctest.Wait()
		joinAs("joe")
		synctest.Wait()
		release()
		select {
		case err := <-filled:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Hour):
			t.Error("the follower waits for the work of the first caller")
		}
		if used["jane"] != 0 || used["joe"] != time.Millisecond {
			t.Errorf("the callers have paid for %v", used)
		}
		leave()
	})
}
