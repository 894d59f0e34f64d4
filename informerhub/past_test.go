package informerhub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// remembered records the content of a cache at each version.
type remembered struct {
	*scopeCache
	t       *testing.T
	version int
	held    map[int][]*Object
	now     map[string]*Object
}

func newRemembered(t *testing.T, windowBytes int) *remembered {
	r := &remembered{scopeCache: podCache(windowBytes), t: t, version: 1, held: map[int][]*Object{}, now: map[string]*Object{}}
	must(t, r.Replace(nil, "1"))
	r.note()
	return r
}

func (r *remembered) note() {
	var objects []*Object
	for _, object := range r.now {
		objects = append(objects, object)
	}
	sortObjects(objects)
	r.held[r.version] = objects
}

// change creates, changes or deletes one of some pods.
func (r *remembered) change(rnd *rand.Rand) {
	r.version++
	state := traits{
		Namespace: fmt.Sprint("ns-", rnd.IntN(3)), Name: fmt.Sprintf("pod-%02d", rnd.IntN(40)), Version: strconv.Itoa(r.version),
		Labels: map[string]string{"app": []string{"x", "y"}[rnd.IntN(2)]}, Node: fmt.Sprint("node-", rnd.IntN(3)),
	}
	key := state.Namespace + "/" + state.Name
	before := r.now[key]
	switch {
	case before != nil && rnd.IntN(3) == 0:
		state.UID = before.UID()
		delete(r.now, key)
		must(r.t, r.Delete(podObject(r.t, state)))
	default:
		state.UID = fmt.Sprint("uid-", r.version)
		if before != nil {
			state.UID = before.UID()
		}
		r.now[key] = podObject(r.t, state)
		must(r.t, r.Update(r.now[key]))
	}
	r.note()
}

func namesOfObjects(objects []*Object) (names []ObjectName) {
	for _, object := range objects {
		names = append(names, ObjectName{Namespace: object.Namespace(), Name: object.Name()})
	}
	return names
}

func (r *remembered) at(version int) Position {
	r.mu.RLock()
	defer r.mu.RUnlock()
	at := r.feed.position(time.Now())
	at.Version = strconv.Itoa(version)
	return at
}

// walk returns the content of a selection at a position, page by page, with a change after each
// page.
func (r *remembered) walk(rnd *rand.Rand, sel *Selection, at Position, page int) (walked []*Object) {
	behind := ObjectName{}
	for {
		objects, more, err := r.ListBehind(r.t.Context(), sel, at, behind, page, maxInt)
		must(r.t, err)
		if walked = append(walked, objects...); !more {
			return walked
		}
		if len(objects) != page {
			r.t.Fatalf("a page has %d objects, want %d", len(objects), page)
		}
		last := walked[len(walked)-1]
		behind = ObjectName{Namespace: last.Namespace(), Name: last.Name()}
		r.change(rnd)
	}
}

// TestCache_ListsASelectionAtEarlierVersions makes random changes, and lists at earlier versions.
func TestCache_ListsASelectionAtEarlierVersions(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		r := newRemembered(t, 1<<20)
		for range 300 {
			r.change(rnd)
		}
		for _, query := range []Query{
			{}, {Namespace: "ns-1"}, {LabelSelector: "app=x"}, {LabelSelector: "app!=x"}, {FieldSelector: "spec.nodeName=node-1"},
			{Namespaces: []string{"ns-0", "ns-2"}}, {Name: "pod-07"}, {Namespace: "ns-1", LabelSelector: "app in (x,y)"},
			{Related: Related{Among: []ObjectName{{Namespace: "ns-0", Name: "pod-01", UID: "uid-3"}, {Namespace: "ns-1", Name: "pod-02"}}}},
		} {
			sel := selectFrom(t, r.scopeCache, query)
			for range 5 {
				version := 1 + rnd.IntN(r.version)
				at := r.at(version)
				var held []*Object
				for _, object := range r.held[version] {
					if sel.Matches(object) {
						held = append(held, object)
					}
				}
				whole, err := r.ListAt(t.Context(), sel, at)
				if must(t, err); !slices.Equal(whole.Objects, held) || whole.ResourceVersion != strconv.Itoa(version) {
					t.Fatalf("seed %d: %v held at version %d\n%v, want\n%v", seed, query, version, names(whole.Objects), names(held))
				}
				if named, err := r.ListNamed(t.Context(), at, namesOfObjects(held), maxInt); err != nil || !slices.Equal(named, held) {
					t.Fatalf("seed %d: version %d has, by name,\n%v, %v, want\n%v", seed, version, names(named), err, names(held))
				}
				if walked := r.walk(rnd, sel, at, 1+rnd.IntN(20)); !slices.Equal(walked, held) {
					t.Fatalf("seed %d: %v held at version %d\n%v in pages, want\n%v", seed, query, version, names(walked), names(held))
				}
			}
		}
	}
}

func TestCache_ReturnsWhyAnEarlierVersionIsUnknown(t *testing.T) {
	r := newRemembered(t, 8<<10)
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		r.change(rnd)
	}
	sel := selectFrom(t, r.scopeCache, Query{})
	wantPast := func(what string, at Position, want error) {
		t.Helper()
		_, whole := r.ListAt(t.Context(), sel, at)
		_, missing := r.ListNamed(t.Context(), at, []ObjectName{{Name: "never"}}, maxInt)
		if missing == nil {
			t.Errorf("%s: an object that never existed is returned", what)
		}
		_, _, behind := r.ListBehind(t.Context(), sel, at, ObjectName{}, 10, maxInt)
		for _, err := range []error{whole, behind, r.Holds(at)} {
			if !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", what, err, want)
			}
		}
	}
	wantPast("behind the window", r.at(2), ErrForgotten)
	wantPast("in the future", r.at(r.version+1), ErrForgotten)
	wantPast("within the window", r.at(r.version-1), nil)

	wide := newRemembered(t, 1<<20)
	for range 20 {
		wide.change(rnd)
	}
	r = wide
	must(t, r.Add(pod(t, "last", 22)))
	present := r.at(22)
	must(t, r.Replace(nil, "32")) // all were deleted at unknown versions
	sel = selectFrom(t, r.scopeCache, Query{})
	wantPast("before a relist", present, nil)
	wantPast("within what a relist has led over", r.at(27), ErrForgotten)
	wantPast("after a relist", r.at(32), nil)

	must(t, r.Replace(nil, "5")) // as after a restored backup
	wantPast("of a history that was undone", present, ErrUndone)
}

// TestCache_PageExaminesFewObjects counts the objects that are examined under the cache's
// lock.
func TestCache_PageExaminesFewObjects(t *testing.T) {
	c := tenants(t)
	sel := selectFrom(t, c, Query{})
	at := listOf(t, c, sel).Position
	before := c.looked()
	if _, _, err := c.ListBehind(t.Context(), sel, at, ObjectName{Namespace: "theirs", Name: "pod-0100"}, 50, maxInt); err != nil {
		t.Fatal(err)
	}
	if looked := c.looked() - before; looked > 200 {
		t.Errorf("a page of 50 examined %d objects", looked)
	}
}

// BenchmarkCache_ListAt compares a page of 50 and a whole list of 20,000 at the present version and
// at earlier versions.
func BenchmarkCache_ListAt(b *testing.B) {
	c := podCache(64 << 20)
	must(b, c.Replace(nil, "1"))
	version := 1
	put := func(i int) {
		version++
		must(b, c.Update(podObject(b, traits{Namespace: "ns", Name: fmt.Sprintf("pod-%05d", i), UID: fmt.Sprint("u", i), Version: fmt.Sprint(version)})))
	}
	for i := range 20_000 {
		put(i)
	}
	for range 10_000 {
		put(rand.IntN(20_000))
	}
	sel, err := c.Select(b.Context(), Query{})
	must(b, err)
	for _, ago := range []int{0, 1000, 10_000} {
		at := Position{Version: strconv.Itoa(version - ago), Epoch: c.feed.epoch.id}
		b.Run(fmt.Sprintf("page/%d changes ago", ago), func(b *testing.B) {
			for b.Loop() {
				_, _, err := c.ListBehind(b.Context(), sel, at, ObjectName{Namespace: "ns", Name: "pod-10000"}, 50, maxInt)
				must(b, err)
			}
		})
		b.Run(fmt.Sprintf("whole/%d changes ago", ago), func(b *testing.B) {
			for b.Loop() {
				_, err := c.ListAt(b.Context(), sel, at)
				must(b, err)
			}
		})
	}
	b.Run("whole/present", func(b *testing.B) {
		for b.Loop() {
			_, err := c.List(b.Context(), sel)
			must(b, err)
		}
	})
}

// TestRewinds_AreSharedByReadersOfAVersion counts the changes that pages of one version examine.
func TestRewinds_AreSharedByReadersOfAVersion(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	r := newRemembered(t, 1<<20)
	for range 400 {
		r.change(rnd)
	}
	sel, at := selectFrom(t, r.scopeCache, Query{}), r.at(r.version-300)
	examined := func() int64 {
		before := r.feed.examined.Load()
		_, err := r.ListNamed(t.Context(), at, namesOfObjects(r.held[r.version-300][:1]), maxInt)
		must(t, err)
		return r.feed.examined.Load() - before
	}
	_, err := r.ListAt(t.Context(), sel, at)
	must(t, err)
	if count := examined(); count != 0 {
		t.Errorf("the second reader of a version examined %d changes", count)
	}
}

// TestRewinds_EndWithTheWindow reads versions again and again while random changes move the
// window, by several readers at a time.
func TestRewinds_EndWithTheWindow(t *testing.T) {
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := newRemembered(t, 16<<10)
		for range 50 {
			r.change(rnd)
		}
		sel := selectFrom(t, r.scopeCache, Query{})
		read := 0
		for range 100 {
			versions := []int{r.version - rnd.IntN(40), r.version - rnd.IntN(40)}
			for range rnd.IntN(4) {
				r.change(rnd)
			}
			var readers sync.WaitGroup
			for _, version := range append(versions, versions...) {
				at := r.at(version)
				readers.Go(func() {
					got, err := r.ListAt(context.Background(), sel, at)
					if err == nil && !slices.Equal(got.Objects, r.held[version]) {
						t.Errorf("seed %d: version %d held\n%v, want\n%v", seed, version, names(got.Objects), names(r.held[version]))
					}
					if err != nil && !errors.Is(err, ErrForgotten) {
						t.Errorf("seed %d: version %d: %v", seed, version, err)
					}
				})
			}
			readers.Wait()
			read += len(r.feed.rewinds.used)
			for _, retained := range r.feed.rewinds.used {
				if !r.feed.window.covers(retained.from) {
					t.Fatalf("seed %d: a rewind from %d is retained, but the window begins at %d", seed, retained.from, r.feed.window.first)
				}
			}
		}
		if read == 0 {
			t.Errorf("seed %d: no rewind was retained", seed)
		}
		must(t, r.Replace(nil, strconv.Itoa(r.version+1000)))
		must(t, r.Replace(nil, "5")) // as after a restored backup
		if retained := &r.feed.rewinds; len(retained.used) != 0 || retained.total != 0 {
			t.Errorf("seed %d: %d rewinds of %d objects are retained in a new epoch", seed, len(retained.used), retained.total)
		}
	}
}

// TestRewinds_AreBounded reads more versions than a cache retains, and larger ones.
func TestRewinds_AreBounded(t *testing.T) {
	var r rewinds
	for i := range uint64(3 * maxRewinds) {
		r.put(&rewind{from: i, objects: make([]earlierVersion, i)})
	}
	if len(r.used) != maxRewinds {
		t.Errorf("%d rewinds are retained, want %d", len(r.used), maxRewinds)
	}
	wantTotal(t, &r)
	oldest := r.get(0, 2*maxRewinds) // is the last used one now
	for i := range uint64(8) {
		r.put(&rewind{from: 1000 + i, objects: make([]earlierVersion, maxRewound/8)})
		wantTotal(t, &r)
		if again := r.get(0, oldest.from); i < 6 && again != oldest {
			t.Errorf("after %d large rewinds the last used one is evicted", i+1)
		}
	}
	r.put(&rewind{from: 2000, objects: make([]earlierVersion, maxRewound+1)})
	wantTotal(t, &r)
	if len(r.used) != 0 {
		t.Errorf("%d rewinds are retained in addition to one that is too large", len(r.used))
	}
}

func wantTotal(t *testing.T, r *rewinds) {
	t.Helper()
	total := 0
	for _, retained := range r.used {
		total += len(retained.objects)
	}
	if total != r.total || total > maxRewound {
		t.Fatalf("%d earlier versions are retained, %d counted, at most %d allowed", total, r.total, maxRewound)
	}
}

// TestRewind_WithinASpan compares spans with a loop over all objects.
func TestRewind_WithinASpan(t *testing.T) {
	r := &rewind{}
	for i := range 20 {
		r.objects = append(r.objects, earlierVersion{changed: podObject(t, traits{Namespace: "ns", Name: fmt.Sprintf("pod-%02d", 2*i)})})
	}
	bound := func(i int) *ObjectName {
		if i < 0 {
			return nil
		}
		return &ObjectName{Namespace: "ns", Name: fmt.Sprintf("pod-%02d", i)}
	}
	for after := -1; after < 41; after++ {
		for upTo := -1; upTo < 41; upTo++ {
			var want []earlierVersion
			for i, object := range r.objects {
				if 2*i > after && (upTo < 0 || 2*i <= upTo) {
					want = append(want, object)
				}
			}
			if got := r.within(span{bound(after), bound(upTo)}); !slices.Equal(got, want) {
				t.Errorf("after %d, up to %d: %d objects, want %d", after, upTo, len(got), len(want))
			}
		}
	}
}
