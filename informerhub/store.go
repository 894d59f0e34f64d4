package informerhub

import (
	"cmp"
	"math"
	"slices"
	"unique"

	"github.com/google/btree"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// store holds the objects of one resource in order of namespace and name, with
// indexes by label and by the fields that are selected by. It is not safe for concurrent use:
// the cache's lock guards it.
type store struct {
	entries *btree.BTreeG[*entry]
	byLabel postings[unique.Handle[Label]]
	byField map[string]*fieldIndex
	bytes   int
}

// entry is the place of one namespace and name. It outlives changes of its
// object, so that the index is touched only where labels change. When its object
// is deleted it leaves the store, and stands in the feed's log as a tombstone.
type entry struct {
	object  *Object
	seq     uint64 // the place in the feed of its last change
	made    uint64 // and of the change that made it; 0 if that is not known
	deleted bool
}

func newStore() *store {
	return &store{
		entries: btree.NewG(32, func(a, b *entry) bool { return compareEntries(a, b) < 0 }),
		byLabel: make(postings[unique.Handle[Label]]),
		byField: make(map[string]*fieldIndex),
	}
}

// emptied is an empty store with the same indexes.
func (s *store) emptied() *store {
	empty := newStore()
	for name, index := range s.byField {
		empty.indexField(name, index.reads)
	}
	return empty
}

func compareEntries(a, b *entry) int {
	return a.object.compare(b.object.namespace, b.object.name)
}

func (s *store) get(namespace, name string) *Object {
	if found, ok := s.entries.Get(&entry{object: &Object{namespace: namespace, name: name}}); ok {
		return found.object
	}
	return nil
}

// put adds an object, or puts it in the place of the one under its name, and
// answers its entry.
func (s *store) put(object *Object) (at *entry, made bool) {
	s.bytes += object.Size()
	found, ok := s.entries.Get(&entry{object: object})
	if !ok {
		added := &entry{object: object}
		s.entries.ReplaceOrInsert(added)
		s.index(added, object)
		return added, true
	}
	before := found.object
	s.bytes -= before.Size()
	found.object = object
	s.reindex(found, before, object)
	return found, false
}

// delete takes an object out, and answers its entry; nil if there is none.
func (s *store) delete(object *Object) *entry {
	removed, ok := s.entries.Delete(&entry{object: object})
	if !ok {
		return nil
	}
	s.bytes -= removed.object.Size()
	s.unindex(removed, removed.object)
	return removed
}

func (s *store) index(e *entry, object *Object) {
	s.indexLabels(e, object.labels)
	for _, index := range s.byField {
		index.add(e, index.reads.values(object))
	}
}

func (s *store) unindex(e *entry, object *Object) {
	s.unindexLabels(e, object.labels)
	for _, index := range s.byField {
		index.remove(e, index.reads.values(object))
	}
}

func (s *store) indexLabels(e *entry, labels Labels) {
	for _, label := range labels {
		s.byLabel.add(label, e)
	}
}

func (s *store) unindexLabels(e *entry, labels Labels) {
	for _, label := range labels {
		s.byLabel.remove(label, e)
	}
}

// reindex touches the indexes only where the object has changed.
func (s *store) reindex(e *entry, before, after *Object) {
	if !slices.Equal(before.labels, after.labels) {
		s.unindexLabels(e, before.labels)
		s.indexLabels(e, after.labels)
	}
	for _, index := range s.byField {
		index.change(e, before, after)
	}
}

// all is every object, in order.
func (s *store) all() []*Object {
	objects := make([]*Object, 0, s.entries.Len())
	s.entries.Ascend(func(e *entry) bool {
		objects = append(objects, e.object)
		return true
	})
	return objects
}

// candidates are the objects among which a selection's are, in order: as few as
// the indexes can tell without looking at the objects.
func (s *store) candidates(sel *Selection) []*Object {
	if sel.among != nil {
		return s.named(sel.among)
	}
	if sel.name != "" && (sel.namespace != "" || !sel.namespaced) {
		if object := s.get(sel.namespace, sel.name); object != nil {
			return []*Object{object}
		}
		return nil
	}
	if _, indexed := s.indexed(sel); !indexed && sel.namespace == "" && !sel.restricted {
		return s.all()
	}
	return slices.Collect(s.behind(sel, nil, math.MaxInt))
}

// named are the objects that have some names, which are in order.
func (s *store) named(names []ObjectName) []*Object {
	var objects []*Object
	for i, name := range names {
		again := i > 0 && name.compare(names[i-1]) == 0 // with another UID
		if object := s.get(name.Namespace, name.Name); object != nil && !again {
			objects = append(objects, object)
		}
	}
	return objects
}

// within are the entries of one namespace; all of them if it is empty.
func within(entries []*entry, namespace string) []*entry {
	if namespace == "" {
		return entries
	}
	compare := func(e *entry, namespace string) int { return cmp.Compare(e.object.namespace, namespace) }
	first, _ := slices.BinarySearchFunc(entries, namespace, compare)
	count, _ := slices.BinarySearchFunc(entries[first:], namespace+"\x00", compare)
	return entries[first : first+count]
}

// indexed returns, for each of the values that a selection wants of one thing, the
// entries that have it, in order; false if no index helps. Where several would, it is the
// one with the fewest entries. The result shares the indexes' memory.
func (s *store) indexed(sel *Selection) (lists [][]*entry, ok bool) {
	fewest := 0
	consider := func(candidates [][]*entry) {
		count := 0
		for _, entries := range candidates {
			count += len(entries)
		}
		if !ok || count < fewest {
			lists, fewest, ok = candidates, count, true
		}
	}
	for _, requirement := range sel.requirements {
		if namesValues(requirement) {
			consider(s.having(requirement))
		}
	}
	for _, condition := range sel.conditions {
		if index, found := s.indexedBy(condition); found {
			consider(index.postings.lists(condition.wants))
		}
	}
	return lists, ok
}

func namesValues(requirement labels.Requirement) bool {
	switch requirement.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return true
	}
	return false
}

// having returns the entries that meet one requirement: for each value, in order.
func (s *store) having(requirement labels.Requirement) [][]*entry {
	values := requirement.ValuesUnsorted()
	wanted := make([]unique.Handle[Label], len(values))
	for i, value := range values {
		wanted[i] = unique.Make(Label{requirement.Key(), value})
	}
	return s.byLabel.lists(wanted)
}

// sortObjects sorts by namespace and name.
func sortObjects(objects []*Object) {
	slices.SortFunc(objects, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}
