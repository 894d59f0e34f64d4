package informerhub

import (
	"context"
	"slices"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// postings are the entries of one partition for each value, in order of name.
type postings[V comparable] map[V][]*entry

func (p postings[V]) add(value V, e *entry) {
	entries := p[value]
	if at, found := slices.BinarySearchFunc(entries, e, compareNames); !found {
		p[value] = slices.Insert(entries, at, e)
	}
}

func (p postings[V]) remove(value V, e *entry) {
	entries := p[value]
	at, found := slices.BinarySearchFunc(entries, e, compareNames)
	switch {
	case !found:
	case len(entries) == 1:
		delete(p, value)
	default:
		p[value] = slices.Delete(entries, at, at+1)
	}
}

// maxFieldIndexes bounds the indexes of one store. The built-in kinds with the most selectable
// fields have eleven.
const maxFieldIndexes = 16

// indexPart is the number of entries that are added to a new index while the cache is locked.
const indexPart = 256

// indexTimeout is the longest time that a selection waits for an index that another caller is
// building. An index of 20,000 objects takes about 20 ms.
const indexTimeout = time.Second

// fieldIndex is an index of a field in the partitions of a store: it finds the entries whose
// objects have a value in the field. It is created when the field is first selected by. Objects
// without a value are not in it.
//
// The existing entries are added in parts, and their fields are read without the lock. Changes are
// added meanwhile as they arrive. Adding an entry twice has no effect.
type fieldIndex struct {
	reader   object.FieldReader
	complete bool          // all entries have been added: the index can be used
	building chan struct{} // closed when the caller that is adding entries has ended; nil if there is none
	cursor   *ObjectName   // the last entry that was read for adding; nil before the first one
}

// unindexed is an entry that must still be added to a new index.
type unindexed struct {
	partition *partition
	entry     *entry
	object    *Object
	values    []string // of the object; read without the lock
}

// index indexes the fields of a selection.
func (c *scopeCache) index(ctx context.Context, sel *Selection) error {
	for _, condition := range sel.conditions {
		if !condition.Indexable() || c.isIndexed(condition.Field) {
			continue
		}
		if err := c.indexField(ctx, condition); err != nil {
			return err
		}
	}
	return nil
}

// indexField builds the index of a field, or waits up to indexTimeout for the caller that is building
// it: after the start of a service thousands of callers may select by the same field at once, and
// without the index each would examine every object.
func (c *scopeCache) indexField(ctx context.Context, condition object.Condition) error {
	timeout := time.NewTimer(indexTimeout)
	defer timeout.Stop()
	for {
		store, index, building := c.beginIndex(condition.Field, condition.Reader)
		switch {
		case index != nil:
			return c.buildIndex(ctx, store, condition.Field, index)
		case building == nil:
			return nil
		}
		select {
		case <-building:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isIndexed reports whether the index of a field is complete, or cannot be built.
func (c *scopeCache) isIndexed(field string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if index := c.store.fields[field]; index != nil {
		return index.complete
	}
	return len(c.store.fields) == maxFieldIndexes
}

// beginIndex returns an index that the caller must build. If another caller is building it,
// beginIndex returns a channel that is closed when that has ended. If there is nothing to build,
// both are nil.
func (c *scopeCache) beginIndex(field string, reads object.FieldReader) (in *store, index *fieldIndex, building <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	index = c.store.fields[field]
	switch {
	case index == nil && len(c.store.fields) == maxFieldIndexes, index != nil && index.complete:
		return nil, nil, nil
	case index == nil:
		index = &fieldIndex{reader: reads}
		c.store.fields[field] = index
	case index.building != nil:
		return nil, nil, index.building
	}
	index.building = make(chan struct{})
	return c.store, index, nil
}

// buildIndex adds the existing entries of the store. If the context ends, the next caller that
// selects by the field starts over.
func (c *scopeCache) buildIndex(ctx context.Context, in *store, field string, index *fieldIndex) error {
	defer c.endIndex(index)
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for part := c.addToIndex(in, field, nil); len(part) > 0; part = c.addToIndex(in, field, part) {
		for i := range part {
			part[i].values = index.reader.Values(part[i].object)
		}
		if err := fairqueue.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *scopeCache) endIndex(index *fieldIndex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(index.building)
	index.building, index.cursor = nil, nil
}

// addToIndex adds a part of the entries to a new index, unless they have changed meanwhile, and
// returns the next part. If the next part is empty, the index is complete.
func (c *scopeCache) addToIndex(in *store, field string, part []unindexed) (next []unindexed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store != in {
		return nil // the new store has the index
	}
	in.examined.Add(int64(len(part)))
	for _, read := range part {
		switch {
		case read.entry.deleted:
		case read.entry.object != read.object:
			next = append(next, unindexed{partition: read.partition, entry: read.entry, object: read.entry.object})
		default:
			read.partition.indexField(field, read.entry, read.values)
		}
	}
	index := in.fields[field]
	next = in.appendUnindexed(next, index)
	index.complete = len(next) == 0
	return next
}

// lookup is a condition of a selection that the indexes of the partitions can answer: one of some
// labels, or one of some values of a field.
type lookup struct {
	labels []unique.Handle[object.Label]
	field  string // if labels is nil
	values []string
}

func (l *lookup) size() int { return len(l.labels) + len(l.values) }

// entries returns the entries of a partition that have the i-th label or value, in order of name.
// The result shares the index's memory.
func (l *lookup) entries(p *partition, i int) []*entry {
	if l.labels != nil {
		return p.byLabel[l.labels[i]]
	}
	return p.byField[l.field][l.values[i]]
}

// count returns the number of entries in some partitions that the lookup finds.
func (l *lookup) count(partitions []*partition) (count int) {
	for _, p := range partitions {
		for i := range l.size() {
			count += len(l.entries(p, i))
		}
	}
	return count
}

// objects returns the objects of some partitions that have the i-th label or value.
func (l *lookup) objects(i int, partitions []*partition) (found []*Object) {
	for _, p := range partitions {
		for _, e := range l.entries(p, i) {
			found = append(found, e.object)
		}
	}
	return found
}

// listsFrom returns the entries of a partition that the lookup finds, beginning at a name: one list
// for each label or value that has such entries.
func (l *lookup) listsFrom(p *partition, from *entry) (lists [][]*entry) {
	for i := range l.size() {
		entries := l.entries(p, i)
		first, _ := slices.BinarySearchFunc(entries, from, compareNames)
		if first < len(entries) {
			lists = append(lists, entries[first:])
		}
	}
	return lists
}

// lookupsOf returns the lookups for the conditions of a selection.
func lookupsOf(sel *Selection) (all []*lookup) {
	for _, requirement := range sel.requirements {
		if namesValues(requirement) {
			all = append(all, labelLookup(requirement))
		}
	}
	for _, c := range sel.conditions {
		if c.Indexable() {
			all = append(all, &lookup{field: c.Field, values: c.Values})
		}
	}
	return all
}

func namesValues(requirement labels.Requirement) bool {
	switch requirement.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return true
	}
	return false
}

func labelLookup(requirement labels.Requirement) *lookup {
	l := &lookup{}
	for _, value := range requirement.ValuesUnsorted() {
		l.labels = append(l.labels, unique.Make(object.Label{Key: requirement.Key(), Value: value}))
	}
	return l
}
