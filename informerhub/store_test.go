package informerhub

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"unique"

	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// TestStore_FindsTheSameAsAFullScan puts, changes and deletes objects at random, and
// compares the store with a map.
func TestStore_FindsTheSameAsAFullScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, true_, version := podCache(1<<20), world{}, 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				version++
				state := someTraits(t, aPlace.Draw(t, "place"), "u", version)
				c.store.put(podObject(t, state))
				true_[key{state.Namespace, state.Name}] = state
			},
			"delete": func(t *rapid.T) {
				place := aPlace.Draw(t, "place")
				c.store.delete(podObject(t, traits{Namespace: place.namespace, Name: place.name}))
				delete(true_, place)
			},
			"find": func(t *rapid.T) {
				query := aQuery.Draw(t, "query")
				checkSame(t, describeAll(true_.selected(t, query), describeTraits), describeAll(listOf(t, c, selectFrom(t, c, query)).Objects, describeObject))
			},
			"": func(t *rapid.T) { checkIndex(t, c.store) },
		})
		for _, object := range c.store.all() {
			c.store.delete(object)
		}
		if c.store.bytes != 0 || len(c.store.partitions)+len(c.store.byNamespace) != 0 || c.store.count != 0 {
			t.Errorf("an empty store has %d bytes, %d namespaces, %d entries", c.store.bytes, len(c.store.partitions), c.store.count)
		}
	})
}

// checkIndex rebuilds the indexes and compares.
func checkIndex(t tester, s *store) {
	t.Helper()
	want, size := make(map[unique.Handle[object.Label]][]*Object), 0
	for _, object := range s.all() {
		size += object.Size()
		for _, label := range object.Labels() {
			want[label] = append(want[label], object)
		}
	}
	if s.bytes != size {
		t.Fatalf("counted %d bytes of %d", s.bytes, size)
	}
	got := make(map[unique.Handle[object.Label]][]*Object)
	for _, p := range s.partitions {
		if p.entries.Len() == 0 || s.byNamespace[p.namespace] != p {
			t.Fatalf("the partition of %q is empty, or not found", p.namespace)
		}
		for label, entries := range p.byLabel {
			for _, e := range entries {
				got[label] = append(got[label], e.object)
			}
		}
	}
	if !maps.EqualFunc(want, got, slices.Equal[[]*Object]) {
		t.Fatalf("the index is %v, want %v", got, want)
	}
	rebuilt := s.emptyCopy()
	for _, object := range s.all() {
		rebuilt.put(object)
	}
	for i, p := range s.partitions {
		same := func(a, b postings[string]) bool { return maps.EqualFunc(a, b, sameObjects) }
		if want := rebuilt.partitions[i].byField; !maps.EqualFunc(want, p.byField, same) {
			t.Fatalf("the indexes of %q are %v, want %v", p.namespace, p.byField, want)
		}
	}
}

// lookedThrough returns the objects that are matched against a selection, in no order.
func lookedThrough(c *scopeCache, sel *Selection) []*Object {
	return slices.Concat(c.candidates(sel).runs...)
}

func sameObjects(a, b []*entry) bool {
	return slices.EqualFunc(a, b, func(a, b *entry) bool { return a.object == b.object })
}

func checkSame(t tester, want, got []string) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

func TestStore_UsesTheSmallestIndex(t *testing.T) {
	c := podCache(1 << 20)
	for i := range 100 {
		labels := map[string]string{"app": "web"}
		if i == 7 {
			labels["leader"] = "yes"
		}
		c.store.put(podObject(t, traits{Namespace: "a", Name: fmt.Sprint("pod-", i), Labels: labels}))
	}
	for selector, want := range map[string]int{
		"app=web,leader=yes":          1,
		"leader in (yes,no),app=web":  1,
		"app=web,nobody=has":          0,
		"app=web":                     100,
		"app!=db":                     100,
		"app in (web,db),leader=yes":  1,
		"!leader,app=web,leader==yes": 1,
	} {
		t.Run(selector, func(t *testing.T) {
			if got := len(lookedThrough(c, selectFrom(t, c, Query{LabelSelector: selector}))); got != want {
				t.Errorf("examined %d objects, want %d", got, want)
			}
		})
	}
}

func TestStore_FindsFieldValuesByIndex(t *testing.T) {
	c := podCache(1 << 20)
	for i := range 100 {
		at := traits{Namespace: fmt.Sprint("ns-", i%2), Name: fmt.Sprint("pod-", i), Node: fmt.Sprint("node-", i%10)}
		if i == 99 {
			at.Node = ""
		}
		c.store.put(podObject(t, at))
	}
	for selector, want := range map[string]int{
		"spec.nodeName=node-3": 10, "spec.nodeName==node-9": 9, "spec.nodeName=nowhere": 0,
		"spec.nodeName!=node-3": 100, "spec.nodeName=": 100,
	} {
		t.Run(selector, func(t *testing.T) {
			if got := len(lookedThrough(c, selectFrom(t, c, Query{FieldSelector: selector}))); got != want {
				t.Errorf("examined %d objects, want %d", got, want)
			}
		})
	}
	sel := selectFrom(t, c, Query{FieldSelector: "spec.nodeName=node-3", Namespace: "ns-0"})
	if got := lookedThrough(c, sel); len(got) != 0 {
		t.Errorf("examined %d objects of another namespace", len(got))
	}
	sel = selectFrom(t, c, Query{FieldSelector: "spec.nodeName=node-3", Namespace: "ns-1"})
	if got := lookedThrough(c, sel); len(got) != 10 {
		t.Errorf("examined %d objects of the namespace, want 10", len(got))
	}
}

func TestStore_FindsNamesAndNamespacesWithoutAScan(t *testing.T) {
	c := podCache(1 << 20)
	for _, namespace := range []string{"a", "a-b", "b"} {
		for i := range 10 {
			c.store.put(podObject(t, traits{Namespace: namespace, Name: fmt.Sprint("pod-", i)}))
		}
	}
	for name, test := range map[string]struct {
		query Query
		want  int
	}{
		"by name":                       {Query{Namespace: "a", Name: "pod-3"}, 1},
		"by a missing name":             {Query{Namespace: "a", Name: "pod-x"}, 0},
		"by the fields that name it":    {Query{FieldSelector: "metadata.name=pod-3,metadata.namespace=a"}, 1},
		"by the field of its namespace": {Query{FieldSelector: "metadata.namespace==a"}, 10},
		"by namespace":                  {Query{Namespace: "a"}, 10},
		"by a missing namespace":        {Query{Namespace: "a-"}, 0},
		"by a name in any namespace":    {Query{Name: "pod-3"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(lookedThrough(c, selectFrom(t, c, test.query))); got != test.want {
				t.Errorf("examined %d objects, want %d", got, test.want)
			}
		})
	}
}

func TestStore_ReturnsObjectsOfSeveralValuesInOrder(t *testing.T) {
	c := podCache(1 << 20)
	for i := range 20 {
		labels := map[string]string{"app": []string{"web", "db", "queue"}[i%3]}
		c.store.put(podObject(t, traits{Namespace: "a", Name: fmt.Sprintf("pod-%02d", i), Labels: labels}))
	}
	found := names(listOf(t, c, selectFrom(t, c, Query{LabelSelector: "app in (web,db,queue)"})).Objects)
	if len(found) != 20 || !slices.IsSorted(found) {
		t.Errorf("found %v", found)
	}
}
