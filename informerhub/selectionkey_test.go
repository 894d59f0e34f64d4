package informerhub

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSelection_EqualKeysAreEqualSelections draws two questions that differ in one field at most, and
// some objects. Selections with equal keys must contain the same objects, and deliver the same of them.
func TestSelection_EqualKeysAreEqualSelections(t *testing.T) {
	c := podCache(1 << 20)
	rapid.Check(t, func(t *rapid.T) {
		one := aQuery.Draw(t, "query")
		other := aVariationOf(t, one)
		a, b := selectFrom(t, c, one), selectFrom(t, c, other)
		w := world{}
		for _, place := range rapid.SliceOfNDistinct(aPlace, 1, 12, rapid.ID[key]).Draw(t, "places") {
			w[place] = someTraits(t, place, anOwner.Draw(t, "uid"), 7)
		}
		same := slices.Equal(w.describeSelected(t, one), w.describeSelected(t, other))
		if a.Key() == b.Key() && !same {
			t.Fatalf("%+v and %+v have one key, and select\n%q and\n%q", one, other, w.describeSelected(t, one), w.describeSelected(t, other))
		}
		if again := selectFrom(t, c, one); again.Key() != a.Key() {
			t.Fatalf("%+v has two keys", one)
		}
	})
}

// TestWatchers_OfAnEmptySelectionTakeNothingFromOthers has a watcher of a selection that is limited to
// no names with watchers of everything.
func TestWatchers_OfAnEmptySelectionTakeNothingFromOthers(t *testing.T) {
	c := syncedPods(t, 10)
	var all []*reader
	for _, query := range []Query{{Related: Related{Among: []ObjectName{}}}, {Namespaces: []string{}}, {}, {}} {
		reader := newReader(t, c, query)
		reader.drain(t)
		all = append(all, reader)
	}
	must(t, c.Update(podObject(t, traits{Namespace: "default", Name: "b", UID: "u", Version: "11"})))
	for i, want := range [][]string{nil, nil, {"ADDED default/b@11 at 11"}, {"ADDED default/b@11 at 11"}} {
		checkSame(t, want, all[i].drain(t))
	}
}
