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
)

// TestRewinds_AreSharedByReadersOfAVersion counts the changes that pages of one version examine.
func TestRewinds_AreSharedByReadersOfAVersion(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	r := newRemembered(t, 1<<20)
	for range 400 {
		r.change(rnd)
	}
	sel, at := selectFrom(t, r.Cache, Query{}), r.at(r.version-300)
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
		sel := selectFrom(t, r.Cache, Query{})
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
