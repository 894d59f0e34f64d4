package informerhub

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"unique"

	"github.com/google/btree"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// store has the objects of one resource by namespace, each namespace in a partition with its own
// indexes. The cost of a selection of some namespaces therefore does not depend on the objects of
// others.
//
//	partitions ─▶ "default" ─▶ entries: a B-tree by name
//	          │              ├▶ byLabel: the entries with each label
//	          │              └▶ byField: the same for the selectable fields in use
//	          └▶ "kube-system" …
//
// It is not safe for concurrent use: the cache's lock guards it. Reads under that lock are counted
// in examined.
type store struct {
	byNamespace map[string]*partition
	partitions  []*partition           // in order of namespace
	fields      map[string]*fieldIndex // fields that have an index
	nodes       *btree.FreeListG[*entry]
	count       int // number of entries
	bytes       int

	// examined counts the partitions, lists of an index and entries that were examined for readers.
	// It is the work that callers cause under the cache's lock.
	examined atomic.Int64
}

// partition has the entries of one namespace, or all entries of a resource without namespaces.
type partition struct {
	namespace string
	entries   *btree.BTreeG[*entry]
	byLabel   postings[unique.Handle[object.Label]]
	byField   map[string]postings[string] // by the field's name; created with its first value
}

// entry is the record of one namespace and name. It outlives changes of its object, so that indexes
// are updated only where labels or fields change. When its object is deleted, the entry leaves the
// store and remains in the feed's log as a tombstone.
type entry struct {
	object     *Object
	seq        uint64 // sequence number of its last change
	createdSeq uint64 // sequence number of its creation; 0 if unknown
	deleted    bool
}

func newStore() *store {
	return &store{
		byNamespace: make(map[string]*partition),
		fields:      make(map[string]*fieldIndex),
		nodes:       btree.NewFreeListG[*entry](btree.DefaultFreeListSize),
	}
}

// emptyCopy returns an empty store with the same indexes.
func (s *store) emptyCopy() *store {
	empty := newStore()
	for name, index := range s.fields {
		empty.fields[name] = &fieldIndex{reader: index.reader, complete: true}
	}
	empty.examined.Store(s.examined.Load())
	return empty
}

func compareNames(a, b *entry) int { return cmp.Compare(a.object.Name(), b.object.Name()) }

func (s *store) get(namespace, name string) *Object {
	s.examined.Add(1)
	if p := s.byNamespace[namespace]; p != nil {
		return p.get(name)
	}
	return nil
}

func (p *partition) get(name string) *Object {
	if found, ok := p.entries.Get(&entry{object: object.Probe(name)}); ok {
		return found.object
	}
	return nil
}

// put adds an object, or replaces the one with its name, and returns its entry. It reports whether
// the entry is new.
func (s *store) put(object *Object) (e *entry, isNew bool) {
	s.bytes += object.Size()
	p := s.partitionFor(object.Namespace())
	found, ok := p.entries.Get(&entry{object: object})
	if !ok {
		added := &entry{object: object}
		s.count++
		p.entries.ReplaceOrInsert(added)
		p.indexLabels(added, object.Labels())
		for name, index := range s.fields {
			p.indexField(name, added, index.reader.Values(object))
		}
		return added, true
	}
	before := found.object
	s.bytes -= before.Size()
	found.object = object
	s.reindex(p, found, before, object)
	return found, false
}

// partitionFor returns the partition of a namespace, and creates it if it is missing.
func (s *store) partitionFor(namespace string) *partition {
	p := s.byNamespace[namespace]
	if p == nil {
		p = &partition{
			// The clone prevents the partition from retaining the bytes of an object.
			namespace: strings.Clone(namespace),
			entries:   btree.NewWithFreeListG(32, func(a, b *entry) bool { return a.object.Name() < b.object.Name() }, s.nodes),
			byLabel:   make(postings[unique.Handle[object.Label]]),
		}
		s.byNamespace[p.namespace] = p
		s.partitions = slices.Insert(s.partitions, s.partitionIndex(namespace), p)
	}
	return p
}

// partitionIndex returns the index of the first partition whose namespace is not less than the
// given one.
func (s *store) partitionIndex(namespace string) int {
	at, _ := slices.BinarySearchFunc(s.partitions, namespace, (*partition).compare)
	return at
}

func (p *partition) compare(namespace string) int { return cmp.Compare(p.namespace, namespace) }

// delete removes an object and returns its entry; nil if there is none.
func (s *store) delete(object *Object) *entry {
	p := s.byNamespace[object.Namespace()]
	if p == nil {
		return nil
	}
	removed, ok := p.entries.Delete(&entry{object: object})
	if !ok {
		return nil
	}
	s.count--
	s.bytes -= removed.object.Size()
	p.unindexLabels(removed, removed.object.Labels())
	for name, index := range s.fields {
		p.unindexField(name, removed, index.reader.Values(removed.object))
	}
	if p.entries.Len() == 0 {
		at := s.partitionIndex(p.namespace)
		s.partitions = slices.Delete(s.partitions, at, at+1)
		delete(s.byNamespace, p.namespace)
	}
	return removed
}

func (p *partition) indexLabels(e *entry, labels object.Labels) {
	for _, label := range labels {
		p.byLabel.add(label, e)
	}
}

func (p *partition) unindexLabels(e *entry, labels object.Labels) {
	for _, label := range labels {
		p.byLabel.remove(label, e)
	}
}

// reindex updates the indexes for the labels and fields that differ.
func (s *store) reindex(p *partition, e *entry, before, after *Object) {
	if !slices.Equal(before.Labels(), after.Labels()) {
		p.unindexLabels(e, before.Labels())
		p.indexLabels(e, after.Labels())
	}
	for name, index := range s.fields {
		if from, to := index.reader.Values(before), index.reader.Values(after); !slices.Equal(from, to) {
			p.unindexField(name, e, from)
			p.indexField(name, e, to)
		}
	}
}

// all returns all objects, in order.
func (s *store) all() []*Object {
	objects := make([]*Object, 0, s.count)
	for _, p := range s.partitions {
		objects = p.appendAll(objects)
	}
	return objects
}

func (p *partition) appendAll(objects []*Object) []*Object {
	p.entries.Ascend(func(e *entry) bool {
		objects = append(objects, e.object)
		return true
	})
	return objects
}

// sortObjects sorts by namespace and name.
func sortObjects(objects []*Object) { slices.SortFunc(objects, compareObjects) }

func compareObjects(a, b *Object) int { return a.Compare(b.Namespace(), b.Name()) }
