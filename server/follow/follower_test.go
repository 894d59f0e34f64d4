package follow

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// versions is a state: the versions of the objects, by name. It fails if it is not changed step by
// step.
type versions struct {
	of   map[string]string
	size int // of an object; for tests of the budget
}

func newVersions() *versions { return &versions{of: make(map[string]string), size: 1} }

func (s *versions) Change(before, after *informerhub.Object, _ uint64) error {
	object := after
	if object == nil {
		object = before
	}
	if held, ok := s.of[object.Name()]; ok != (before != nil) || ok && held != before.ResourceVersion() {
		return fmt.Errorf("%s changes from %v, and %q is held", object.Name(), before, held)
	}
	if after == nil {
		delete(s.of, object.Name())
	} else {
		s.of[object.Name()] = after.ResourceVersion()
	}
	return nil
}

func (s *versions) Bytes() int { return len(s.of) * s.size }

func newTestFollowers(perCaller int) *Followers[string, *versions] {
	return NewFollowers[string, *versions](NewBudget(Limits{Total: 10 * perCaller, PerCaller: perCaller}))
}

// read returns a copy of the published state.
func read(t *testing.T, f *Follower[string, *versions]) (map[string]string, Moment) {
	t.Helper()
	var of map[string]string
	var moment Moment
	if err := f.Read(func(state *versions, at Moment) { of, moment = maps.Clone(state.of), at }); err != nil {
		t.Fatal(err)
	}
	return of, moment
}

// TestFollower_IsTrueAtEachPublishedVersion also has a window that contains hardly any change, so that
// a follower falls behind it.
func TestFollower_IsTrueAtEachPublishedVersion(t *testing.T) {
	for name, window := range map[string]int{"with a window": 0, "without a window": 1} {
		t.Run(name, func(t *testing.T) {
			c := newClusterWith(t, 50, informerhub.Options{WindowBytes: window})
			followers := newTestFollowers(1 << 22)
			f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}, newVersions)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Leave()
			at := followRandomChanges(t, c, f)
			if at.Epoch > 1 && window == 0 {
				t.Errorf("the state was filled %d times", at.Epoch)
			}
		})
	}
}

// followRandomChanges makes changes, compares each publication with the pods at its version, and
// returns the last moment.
func followRandomChanges(t *testing.T, c *cluster, f *Follower[string, *versions]) Moment {
	t.Helper()
	last := make(chan string, 1)
	go func() {
		version := ""
		for range 2000 {
			version = c.apply(fmt.Sprint("pod-", rand.N(80)), rand.N(3) == 0)
		}
		last <- version
	}()
	for final := ""; ; {
		got, at := read(t, f)
		if want := c.at(at.Version); !maps.Equal(got, want) {
			t.Fatalf("at version %s the state is %v, want %v", at.Version, got, want)
		}
		if at.Version == final {
			return at
		}
		select {
		case final = <-last:
		default:
		}
		var err error
		if final == "" {
			err = f.Wait(t.Context(), at, nil)
		} else if err = c.cache.Await(t.Context(), final, 10*time.Second); err == nil {
			err = f.Reach(t.Context(), final)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFollowers_ShareOneStateForOneQuestion(t *testing.T) {
	c := newCluster(t, 3)
	followers := newTestFollowers(1 << 20)
	created := 0
	create := func() *versions { created++; return newVersions() }
	join := func(query informerhub.Query, state string) *Follower[string, *versions] {
		f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: c.selection(t, query), State: state}, create)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Leave)
		return f
	}
	first := join(informerhub.Query{Namespace: "default"}, "a")
	if again := join(informerhub.Query{Namespace: "default"}, "a"); again != first || created != 1 {
		t.Errorf("two streams with one question have %d states", created)
	}
	if other := join(informerhub.Query{Namespace: "default"}, "b"); other == first {
		t.Error("another state is shared")
	}
	if other := join(informerhub.Query{Name: "pod-1"}, "a"); other == first {
		t.Error("another selection shares the state")
	}
}

func TestFollower_ContinuesForTheNextStream(t *testing.T) {
	c := newCluster(t, 3)
	followers := newTestFollowers(1 << 20)
	question := Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}
	first, err := followers.Join(t.Context(), question, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	first.Leave()
	second, err := followers.Join(t.Context(), question, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	if second != first {
		t.Error("the next stream has another follower")
	}
	version := c.apply("pod-9", false)
	if err := c.cache.Await(t.Context(), version, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := second.Reach(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	if got, at := read(t, second); len(got) != 4 || at.Version != version {
		t.Errorf("it has %v at %s, want 4 pods at %s", got, at.Version, version)
	}
	second.Leave()
	followers.endAllIdle()
	<-second.ended
	if err := second.Wait(t.Context(), Moment{}, nil); !errors.Is(err, errStopped) {
		t.Errorf("after its end, Wait fails with %v", err)
	}
}

// TestFollower_ReachesNoVersionOfAnotherHistory waits for a version that the cache never reaches, as
// after a restored backup.
func TestFollower_ReachesNoVersionOfAnotherHistory(t *testing.T) {
	c := newCluster(t, 3)
	followers := newTestFollowers(1 << 20)
	f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Leave()
	if err := f.Reach(t.Context(), "1000"); err != nil {
		t.Fatal(err)
	}
}

func TestFollowers_BoundTheMemoryOfACaller(t *testing.T) {
	c := newCluster(t, 100)
	const size = 1000                                       // of an object in a state
	followers := newTestFollowers(150*size + followerBytes) // one state and a half
	join := func(name, caller string) (*Follower[string, *versions], error) {
		question := Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{}), State: name, Caller: caller}
		return followers.Join(t.Context(), question, func() *versions { return &versions{make(map[string]string), size} })
	}
	first, err := join("a", "jane")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := join("b", "jane"); !errors.Is(err, ErrMemory) {
		t.Errorf("a second state of one caller: %v, want %v", err, ErrMemory)
	}
	other, err := join("c", "joe")
	if err != nil {
		t.Fatalf("another caller: %v", err)
	}
	other.Leave()
	first.Leave()
	second, err := join("b", "jane")
	if err != nil {
		t.Fatalf("after the first stream has left: %v", err)
	}
	second.Leave()
	followers.endAllIdle()
}

func TestBudget_ReportsFollowersAndTheirMemory(t *testing.T) {
	c := newCluster(t, 3)
	reported := make(chan [2]int, 100)
	budget := NewBudget(Limits{Total: 1 << 20, PerCaller: 1 << 20, Changed: func(followers, bytes int) { reported <- [2]int{followers, bytes} }})
	followers := NewFollowers[string, *versions](budget)
	f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	f.Leave()
	followers.endAllIdle()
	<-f.ended
	close(reported)
	var most, last [2]int
	for last = range reported {
		most = [2]int{max(most[0], last[0]), max(most[1], last[1])}
	}
	if last != [2]int{} || most[0] != 1 || most[1] < followerBytes {
		t.Errorf("at most %v were reported, and %v at the end", most, last)
	}
}

func TestBudget_CallersWithMuchLeaveMemoryForOthers(t *testing.T) {
	b := NewBudget(Limits{Total: 512 << 20, PerCaller: 256 << 20})
	small := &charge{budget: b, caller: "small"}
	if err := small.resize(1000); err != nil {
		t.Fatal(err)
	}
	for _, caller := range []string{"large-1", "large-2", "large-3"} {
		for (&charge{budget: b, caller: caller}).resize(1<<10) == nil {
		}
	}
	if err := small.resize(1 << 20); err != nil {
		t.Errorf("the follower of another caller ends: %v", err)
	}
}
