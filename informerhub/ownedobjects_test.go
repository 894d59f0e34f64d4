package informerhub

import (
	"context"
	"fmt"
	"testing"
)

func TestStore_FindsOwnedObjectsByIndex(t *testing.T) {
	c := podCache(1 << 20)
	for i := range 100 {
		owners := []string{fmt.Sprint("u", i%10), "all"}
		c.store.put(podObject(t, traits{Namespace: fmt.Sprint("ns-", i%2), Name: fmt.Sprint("pod-", i), Owners: owners}))
	}
	for owner, want := range map[string]int{"u3": 10, "all": 100, "nobody": 0} {
		t.Run(owner, func(t *testing.T) {
			sel := selectFrom(t, c, Query{Related: Related{Owner: owner}})
			if got := len(lookedThrough(c, sel)); got != want {
				t.Errorf("examined %d objects, want %d", got, want)
			}
		})
	}
	sel := selectFrom(t, c, Query{Related: Related{Owner: "u3", Namespace: "ns-0"}})
	if got := lookedThrough(c, sel); len(got) != 0 {
		t.Errorf("examined %d objects of another namespace", len(got))
	}
}

func TestWatcher_DeliversTransitionsOfOwnedObjects(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(nil, "1"))
	watch := newReader(t, c, Query{Related: Related{Owner: "u1"}})
	watch.drain(t)
	version := 1
	for _, step := range []struct {
		owners []string
		want   []string
	}{
		{[]string{"u2"}, nil},
		{[]string{"u2", "u1"}, []string{"ADDED ns/a@3 at 3"}},
		{[]string{"u1"}, []string{"MODIFIED ns/a@4 at 4"}},
		{nil, []string{"DELETED ns/a@4 at 5"}},
	} {
		version++
		must(t, c.Update(podObject(t, traits{Namespace: "ns", Name: "a", UID: "u", Version: fmt.Sprint(version), Owners: step.owners})))
		checkSame(t, step.want, watch.drain(t))
	}
}

// TestRelated_OneNamedObjectIsTheIndexKey also applies to an owner that is selected by its name.
func TestRelated_OneNamedObjectIsTheIndexKey(t *testing.T) {
	c := podCache(1 << 20)
	among := func(names ...ObjectName) *Selection {
		return selectFrom(t, c, Query{Related: Related{Among: names}})
	}
	one := ObjectName{"ns", "a", "u"}
	if got := among(one).indexKey; got != (indexKey{kind: keyObject, a: "ns", b: "a"}) {
		t.Errorf("the key for one object is %v", got)
	}
	if got := among(one, ObjectName{"ns", "b", "u2"}).indexKey; got != (indexKey{}) {
		t.Errorf("the key for two objects is %v", got)
	}
	for uid, want := range map[string]int{"u": 1, "another": 0} {
		c.store.put(podObject(t, traits{Namespace: "ns", Name: "a", UID: uid}))
		if got := len(listOf(t, c, among(one, ObjectName{"ns", "a", "u3"})).Objects); got != want {
			t.Errorf("with UID %s, %d were found", uid, got)
		}
	}
}

func TestRelated_RejectsUnsupportedFields(t *testing.T) {
	related := Related{Fields: []FieldValues{{"spec.nosuch", []string{"x"}}}}
	if _, err := podCache(0).Select(context.Background(), Query{Related: related}); err == nil {
		t.Error("the field can be selected by")
	}
}
