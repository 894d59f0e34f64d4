package follow

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// versions is a state: the versions of the objects, by name. It fails if it is not changed step by
// step.
type versions struct {
	of   map[string]string
	size int // of an object; for tests of the budget
}

func newVersions(func(int) error) *versions { return &versions{of: make(map[string]string), size: 1} }

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

func newTestFollowers() *Followers[string, *versions] {
	return NewFollowers[string, *versions](ledger.New(ledger.Limits{}))
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
			followers := newTestFollowers()
			f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}, newVersions)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Leave(ledger.Account{})
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
		if object.Older(at.Version, at.Position.Version) {
			t.Fatalf("the state of version %s has the position %s", at.Version, at.Position.Version)
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
			err = f.Reach(t.Context(), informerhub.Position{Version: final})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFollowers_ShareOneStateForOneQuestion(t *testing.T) {
	c := newCluster(t, 3)
	followers := newTestFollowers()
	created := 0
	create := func(grown func(int) error) *versions { created++; return newVersions(grown) }
	join := func(query informerhub.Query, state string) *Follower[string, *versions] {
		f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: c.selection(t, query), State: state}, create)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Leave(ledger.Account{}) })
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
	followers := newTestFollowers()
	question := Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}
	first, err := followers.Join(t.Context(), question, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	first.Leave(ledger.Account{})
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
	if err := second.Reach(t.Context(), informerhub.Position{Version: version}); err != nil {
		t.Fatal(err)
	}
	if got, at := read(t, second); len(got) != 4 || at.Version != version {
		t.Errorf("it has %v at %s, want 4 pods at %s", got, at.Version, version)
	}
	second.Leave(ledger.Account{})
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
	followers := newTestFollowers()
	f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: c.selection(t, informerhub.Query{})}, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Leave(ledger.Account{})
	if err := f.Reach(t.Context(), informerhub.Position{Version: "1000"}); err != nil {
		t.Fatal(err)
	}
}

// TestFollower_ReachesAllDeletionsOfTheCacheAtOneVersion has a deletion that is published, and another one at the same version
// that waits for the next publication.
func TestFollower_ReachesAllDeletionsOfTheCacheAtOneVersion(t *testing.T) {
	c := newCluster(t, 3)
	followers := newTestFollowers()
	selection := c.selection(t, informerhub.Query{})
	f, err := followers.Join(t.Context(), Question[string]{Cache: c.cache, Selection: selection}, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Leave(ledger.Account{})
	version := c.apply("pod-0", true)
	for at := (Moment{}); at.Version != version; _, at = read(t, f) {
		if err := f.Wait(t.Context(), at, nil); err != nil {
			t.Fatal(err)
		}
	}
	c.expire("pod-1")
	for cached := 3; cached > 1; {
		list, err := c.cache.List(t.Context(), selection)
		if err != nil {
			t.Fatal(err)
		}
		cached = len(list.Objects)
	}
	if err := f.Reach(t.Context(), informerhub.Position{Version: version}); err != nil {
		t.Fatal(err)
	}
	if got, at := read(t, f); len(got) != 1 {
		t.Errorf("it has %v at %s, want one pod", got, at.Version)
	}
}

// TestRun_PublishesNoStepsBehindAnUnknownState reads a step, and before it is published a batch without the state before,
// which leads to a snapshot. The moment after that batch must not be published with the state before it.
func TestRun_PublishesNoStepsBehindAnUnknownState(t *testing.T) {
	c := newCluster(t, 3)
	selection := c.selection(t, informerhub.Query{})
	r := newGrowing(1<<20, 1)
	r.selection = selection
	watcher := c.cache.Watch(selection, informerhub.WatchOptions{})
	defer watcher.Close()
	r.watcher = watcher
	list, err := c.cache.List(t.Context(), selection)
	if err != nil {
		t.Fatal(err)
	}
	batch := func(kind informerhub.EventType, version string) informerhub.Batch {
		return informerhub.Batch{
			Events:  []informerhub.Event{{Type: kind, Object: list.Objects[0], ResourceVersion: version}},
			Through: version, Position: informerhub.Position{Version: version},
		}
	}
	for _, next := range []informerhub.Batch{batch(informerhub.Added, "11"), batch(informerhub.Modified, "12")} {
		if err := r.add(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	if r.due {
		t.Errorf("version %s is published with the position %s", r.next.Version, r.next.Position.Version)
	}
}

// joining joins streams to followers of one selection, in a ledger.
type joining struct {
	t         *testing.T
	cluster   *cluster
	ledger    *ledger.Ledger
	followers *Followers[string, *versions]
}

const (
	objects    = 100
	objectSize = 1000 // in a state
	stateBytes = objects*objectSize + followerBytes
)

func newJoining(t *testing.T, total int) *joining {
	j := &joining{t: t, cluster: newCluster(t, objects), ledger: ledger.New(ledger.Limits{Total: total})}
	j.followers = NewFollowers[string, *versions](j.ledger)
	t.Cleanup(j.followers.endAllIdle)
	return j
}

// join joins a stream of a caller, with a credential for each stream, to the follower of a state.
func (j *joining) join(state, caller string) (leave func(), err error) {
	account := j.ledger.Account(caller, caller+"'s credential")
	question := Question[string]{Cache: j.cluster.cache, Selection: j.cluster.selection(j.t, informerhub.Query{}), State: state, Account: account}
	f, err := j.followers.Join(j.t.Context(), question, func(func(int) error) *versions { return &versions{make(map[string]string), objectSize} })
	if err != nil {
		return nil, err
	}
	return func() { f.Leave(account) }, nil
}

func (j *joining) mustJoin(state, caller string) (leave func()) {
	j.t.Helper()
	leave, err := j.join(state, caller)
	if err != nil {
		j.t.Fatalf("%s joins %s: %v", caller, state, err)
	}
	return leave
}

// checkKept compares what is kept for callers.
func (j *joining) checkKept(want map[string]int) {
	j.t.Helper()
	if got := j.ledger.Kept(); !maps.Equal(got, want) {
		j.t.Errorf("%v is kept, want %v", got, want)
	}
}

func TestFollowers_BoundTheMemoryOfACaller(t *testing.T) {
	j := newJoining(t, 15*stateBytes/2) // a credential can have a fifth: one state and a half
	leaveFirst := j.mustJoin("a", "jane")
	if _, err := j.join("b", "jane"); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("a second state of one caller: %v, want %v", err, ledger.ErrFull)
	}
	j.mustJoin("c", "joe")()
	leaveFirst()
	j.mustJoin("b", "jane")() // ends the followers that no stream uses
}

// TestFollowers_AreRefusedBeforeMuchIsKept has objects that are large in a state, of which a caller can
// have few.
func TestFollowers_AreRefusedBeforeMuchIsKept(t *testing.T) {
	const mayHave, large = 8 << 20, 400 << 10
	j := newJoining(t, 5*mayHave) // a credential can have a fifth
	state := &versions{make(map[string]string), large}
	question := Question[string]{
		Cache: j.cluster.cache, Selection: j.cluster.selection(t, informerhub.Query{}), Account: j.ledger.Account("jane", "jane's credential"),
	}
	if _, err := j.followers.Join(t.Context(), question, func(func(int) error) *versions { return state }); !errors.Is(err, ledger.ErrFull) {
		t.Fatalf("a state of %d bytes: %v, want %v", objects*large, err, ledger.ErrFull)
	}
	if kept := state.Bytes(); kept > mayHave+bytesBetweenCharges+large {
		t.Errorf("%d bytes were kept, and %d can be charged", kept, mayHave)
	}
}

// TestFollowers_ChargeOneOfTheirStreams lets streams of two callers join one follower, and leave it.
func TestFollowers_ChargeOneOfTheirStreams(t *testing.T) {
	j := newJoining(t, 100*stateBytes)
	leaveJane := j.mustJoin("a", "jane")
	leaveJoe := j.mustJoin("a", "joe")
	leaveAgain := j.mustJoin("a", "jane")
	j.checkKept(map[string]int{"jane": stateBytes})
	leaveJane()
	j.checkKept(map[string]int{"jane": stateBytes}) // still has a stream
	leaveAgain()
	j.checkKept(map[string]int{"joe": stateBytes})
	leaveJoe()
	j.checkKept(map[string]int{"joe": stateBytes}) // nobody has joined since
	leaveJane = j.mustJoin("a", "jane")
	j.checkKept(map[string]int{"jane": stateBytes})
	if followers, bytes := j.followers.Use(); followers != 1 || bytes != stateBytes {
		t.Errorf("%d followers use %d bytes, want one and %d", followers, bytes, stateBytes)
	}
	leaveJane()
	j.followers.endAllIdle()
	j.checkKept(map[string]int{})
}

// TestFollowers_EndWhenNoStreamCanBeCharged has a caller whose part is used otherwise.
func TestFollowers_EndWhenNoStreamCanBeCharged(t *testing.T) {
	j := newJoining(t, 15*stateBytes/2)
	leaveJane := j.mustJoin("a", "jane")
	account := j.ledger.Account("joe", "joe's credential")
	question := Question[string]{Cache: j.cluster.cache, Selection: j.cluster.selection(t, informerhub.Query{}), State: "a", Account: account}
	f, err := j.followers.Join(t.Context(), question, newVersions)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := account.Charge(stateBytes); err != nil {
		t.Fatal(err)
	}
	leaveJane()
	<-f.ended
	if err := f.Wait(t.Context(), Moment{}, nil); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("the follower ended with %v, want %v", err, ledger.ErrFull)
	}
	f.Leave(account)
	j.checkKept(map[string]int{"joe": stateBytes})
}

// TestFollowers_ChargeAnotherStreamWhenTheStateGrows has a caller whose part is used otherwise, and another
// one whose stream must not end because of that.
func TestFollowers_ChargeAnotherStreamWhenTheStateGrows(t *testing.T) {
	j := newJoining(t, 15*stateBytes/2)
	leaveJane := j.mustJoin("a", "jane")
	leaveJoe := j.mustJoin("a", "joe")
	jane := j.ledger.Account("jane", "jane's credential")
	kept := j.ledger.Kept()["jane"]
	if _, err := jane.Charge(15*stateBytes/10 - kept - 1); err != nil {
		t.Fatal(err)
	}
	f := j.followers.running[key[string]{j.cluster.cache, j.cluster.selection(t, informerhub.Query{}).Key(), "a"}]
	r := &run[string, *versions]{Follower: f}
	if err := r.hold(stateBytes); err != nil {
		t.Errorf("a state that grows, of which another caller has a stream: %v", err)
	}
	if f.charged == jane {
		t.Error("the caller is charged whose part is used otherwise")
	}
	if payers, _ := j.followers.payersOf(f); len(payers) != 2 {
		t.Errorf("%d callers pay for the work", len(payers))
	}
	leaveJane()
	leaveJoe()
}

// growing is a state to which each change adds a number of bytes.
type growing struct{ bytes, more int }

func (s *growing) Change(_, _ *informerhub.Object, _ uint64) error {
	s.bytes += s.more
	return nil
}

func (s *growing) Bytes() int { return s.bytes }

// newGrowing returns the goroutine of a follower of a caller who can have a number of bytes.
func newGrowing(mayHave, more int) *run[string, *growing] {
	account := ledger.New(ledger.Limits{Total: 5 * mayHave}).Account("jane", "") // a credential can have a fifth
	charge, _ := account.Charge(0)
	return &run[string, *growing]{
		Follower: &Follower[string, *growing]{
			all: NewFollowers[string, *growing](nil), charge: charge, charged: account, published: make(chan struct{}),
		},
		create: func(func(int) error) *growing { return &growing{0, more} },
	}
}

// TestRun_ChargesForChangesBeforeTheyAreKept has many changes that are published at once.
func TestRun_ChargesForChangesBeforeTheyAreKept(t *testing.T) {
	const mayHave, large = 8 << 20, 400 << 10
	r := newGrowing(mayHave, large)
	if err := r.fill(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		r.pending = append(r.pending, informerhub.Event{Type: informerhub.Added})
	}
	filled := *r.filled
	r.filled, r.state = nil, filled
	if err := r.publish(t.Context()); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("changes of %d bytes: %v, want %v", len(r.pending)*large, err, ledger.ErrFull)
	}
	if r.state.bytes > mayHave+bytesBetweenCharges+large {
		t.Errorf("%d bytes were kept, and %d can be charged", r.state.bytes, mayHave)
	}
	if err := r.Read(func(*growing, Moment) { t.Error("a stream reads a part of the changes") }); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("a stream reads with %v", err)
	}
}

// TestRun_ChargesForBothStatesUntilOneReplacesTheOther takes a snapshot again.
func TestRun_ChargesForBothStatesUntilOneReplacesTheOther(t *testing.T) {
	const size = 1 << 10
	r := newGrowing(1<<20, size)
	wantBytes := func(when string, want int) {
		t.Helper()
		if got := int(r.bytes.Load()) - followerBytes; got != want {
			t.Errorf("%s, %d bytes are charged, want %d", when, got, want)
		}
	}
	for _, before := range []int{0, size} {
		r.snapshot = map[string]*informerhub.Object{"a": nil}
		if err := r.hold(0); err != nil {
			t.Fatal(err)
		}
		wantBytes("while a snapshot is read", before+snapshotEntryBytes)
		if err := r.fill(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		wantBytes("before a state is published", before+size)
		if err := r.publish(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantBytes("after a state is published", size)
	}
}
