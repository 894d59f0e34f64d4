package informerhub

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"unique"

	"github.com/tidwall/btree"

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
	count       int                    // number of entries
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
	}
}

// newEntries returns an empty tree. The cache's lock guards it.
func newEntries() *btree.BTreeG[*entry] {
	return btree.NewBTreeGOptions(func(a, b *entry) bool { return a.object.Name() < b.object.Name() }, btree.Options{NoLocks: true})
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
		p.entries.Set(added)
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
			entries:   newEntries(),
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
	p.entries.Scan(func(e *entry) bool {
		objects = append(objects, e.object)
		return true
	})
	return objects
}

// sortObjects sorts by namespace and name.
func sortObjects(objects []*Object) { slices.SortFunc(objects, compareObjects) }

func compareObjects(a, b *Object) int { return a.Compare(b.Namespace(), b.Name()) }

// selectedPartitions returns the partitions that may have objects of a selection, from the cursor's
// partition on, in order. The result may share the store's memory.
func (s *store) selectedPartitions(sel *Selection, cursor *ObjectName) []*partition {
	firstNamespace := ""
	if cursor != nil {
		firstNamespace = cursor.Namespace
	}
	switch {
	case sel.namespace != "":
		return s.partitionsOf([]string{sel.namespace}, sel)
	case sel.limited:
		first, _ := slices.BinarySearch(sel.namespaces, firstNamespace)
		return s.partitionsOf(sel.namespaces[first:], sel)
	}
	return s.partitions[s.partitionIndex(firstNamespace):]
}

func (s *store) partitionsOf(namespaces []string, sel *Selection) (partitions []*partition) {
	for _, namespace := range namespaces {
		if p := s.byNamespace[namespace]; p != nil && sel.includesNamespace(namespace) {
			partitions = append(partitions, p)
		}
	}
	s.examined.Add(int64(len(namespaces)))
	return partitions
}

// candidates returns a selection's candidates in the partitions that it reaches. If excluded is not
// nil, partitions that it reaches are left out.
func (s *store) candidates(sel, excluded *Selection) [][]*Object {
	if sel.onlyNames != nil {
		return [][]*Object{s.objectsByNames(sel.onlyNames, excluded)}
	}
	partitions := s.selectedPartitions(sel, nil)
	if excluded != nil {
		partitions = slices.DeleteFunc(slices.Clone(partitions), func(p *partition) bool {
			return excluded.includesNamespace(p.namespace)
		})
	}
	runs := s.runs(sel, partitions)
	for _, run := range runs {
		s.examined.Add(int64(len(run)))
	}
	return runs
}

func (s *store) runs(sel *Selection, partitions []*partition) [][]*Object {
	if sel.name != "" {
		return [][]*Object{objectsNamed(sel.name, partitions)}
	}
	all := entriesIn(partitions)
	if index := s.narrowest(sel.lookups, partitions, all); index != nil {
		runs := make([][]*Object, index.size())
		for i := range runs {
			runs[i] = index.objects(i, partitions)
		}
		return runs
	}
	run := make([]*Object, 0, all)
	for _, p := range partitions {
		run = p.appendAll(run)
	}
	return [][]*Object{run}
}

func objectsNamed(name string, partitions []*partition) (found []*Object) {
	for _, p := range partitions {
		if object := p.get(name); object != nil {
			found = append(found, object)
		}
	}
	return found
}

func entriesIn(partitions []*partition) (count int) {
	for _, p := range partitions {
		count += p.entries.Len()
	}
	return count
}

// objectsByNames returns the objects with the given names, which must be in order.
func (s *store) objectsByNames(names []ObjectName, excluded *Selection) []*Object {
	var objects []*Object
	for i, name := range names {
		if i > 0 && name.compare(names[i-1]) == 0 || excluded != nil && excluded.includesNamespace(name.Namespace) {
			continue // the same name with another UID, or excluded
		}
		if object := s.get(name.Namespace, name.Name); object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// narrowest returns the lookup that finds the fewest entries in some partitions; nil if none finds
// less than all. It counts the entries without collecting them. A lookup that would take more steps
// than examining all entries is skipped.
func (s *store) narrowest(lookups []*lookup, partitions []*partition, all int) (best *lookup) {
	fewest, steps := all, 0
	for _, index := range lookups {
		if index.labels == nil && !s.isIndexed(index.field) || steps+index.size()*len(partitions) > all {
			continue
		}
		steps += index.size() * len(partitions)
		if count := index.count(partitions); count < fewest {
			best, fewest = index, count
		}
	}
	s.examined.Add(int64(steps))
	return best
}

// isIndexed reports whether the index of a field can be used.
func (s *store) isIndexed(field string) bool {
	index := s.fields[field]
	return index != nil && index.complete
}

// next returns the candidates of a selection after a cursor, in order, at most as many as a watcher
// takes at once, and whether no others are left. index is the result of stepwise. A nil cursor is
// before the first object.
func (s *store) next(sel *Selection, index *lookup, cursor *ObjectName, maximum limits) (objects []*Object, all bool) {
	size := 0
	for object := range s.after(sel, index, cursor) {
		if len(objects) == maximum.batch || size >= maximum.partBytes {
			return objects, false
		}
		objects = append(objects, object)
		size += object.Size()
	}
	return objects, true
}

// maxMergedLists bounds the lists of an index that a walk merges. Each step compares the first
// entries of all lists.
const maxMergedLists = 16

// stepwise is like narrowest, but returns only a lookup of few values, as a walk needs.
func (s *store) stepwise(sel *Selection) *lookup {
	if sel.name != "" || sel.onlyNames != nil {
		return nil
	}
	few := slices.DeleteFunc(slices.Clone(sel.lookups), func(index *lookup) bool { return index.size() > maxMergedLists })
	partitions := s.selectedPartitions(sel, nil)
	return s.narrowest(few, partitions, entriesIn(partitions))
}

// after returns the candidates of a selection after a cursor, in order.
func (s *store) after(sel *Selection, index *lookup, cursor *ObjectName) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		if sel.onlyNames != nil {
			for _, object := range s.objectsByNames(sel.onlyNames, nil) {
				if !cursor.passed(object) && !yield(object) {
					return
				}
			}
			return
		}
		for _, e := range s.entriesAfter(sel, index, cursor) {
			if !yield(e.object) {
				return
			}
		}
	}
}

// entriesAfter returns the candidate entries of a selection after a cursor, with their partitions,
// in order.
func (s *store) entriesAfter(sel *Selection, index *lookup, cursor *ObjectName) iter.Seq2[*partition, *entry] {
	return func(yield func(*partition, *entry) bool) {
		counted := int64(0)
		defer func() { s.examined.Add(counted) }()
		each := int64(1)
		if index != nil {
			each = int64(index.size())
		}
		for _, p := range s.selectedPartitions(sel, cursor) {
			counted += each
			if !p.visitAfter(sel, index, cursor, func(e *entry) bool { counted += each; return yield(p, e) }) {
				return
			}
		}
	}
}

// visitAfter visits the entries of the partition after a cursor. It reports whether the visitor
// wants further entries.
func (p *partition) visitAfter(sel *Selection, index *lookup, cursor *ObjectName, visit func(*entry) bool) bool {
	afterName := ""
	if cursor != nil && cursor.Namespace == p.namespace {
		afterName = cursor.Name
	}
	from := &entry{object: object.Probe(afterName)}
	more := true
	visitEntry := func(e *entry) bool {
		more = e.object.Name() == afterName || visit(e)
		return more
	}
	switch {
	case sel.name != "":
		from.object = object.Probe(sel.name)
		if e, ok := p.entries.Get(from); ok && sel.name > afterName {
			visitEntry(e)
		}
	case index != nil:
		mergeEntries(index.listsFrom(p, from), visitEntry)
	default:
		p.entries.Ascend(from, visitEntry)
	}
	return more
}

// mergeEntries visits the entries of a few ordered lists, in order and each once, until the visitor
// returns false.
func mergeEntries(lists [][]*entry, visit func(*entry) bool) {
	for len(lists) > 0 {
		first := slices.MinFunc(lists, func(a, b []*entry) int { return compareNames(a[0], b[0]) })[0]
		if !visit(first) {
			return
		}
		rest := lists[:0]
		for _, list := range lists {
			if list[0] == first {
				list = list[1:]
			}
			if len(list) > 0 {
				rest = append(rest, list)
			}
		}
		lists = rest
	}
}

func (p *partition) indexField(name string, e *entry, values []string) {
	for _, value := range values {
		if p.byField == nil {
			p.byField = make(map[string]postings[string])
		}
		if p.byField[name] == nil {
			p.byField[name] = make(postings[string])
		}
		if _, known := p.byField[name][value]; !known {
			value = strings.Clone(value) // value points into the object
		}
		p.byField[name].add(value, e)
	}
}

func (p *partition) unindexField(name string, e *entry, values []string) {
	for _, value := range values {
		p.byField[name].remove(value, e)
	}
	if len(p.byField[name]) == 0 {
		delete(p.byField, name)
	}
}

// appendUnindexed appends entries after an index's cursor to a part, and advances the cursor.
func (s *store) appendUnindexed(part []unindexed, index *fieldIndex) []unindexed {
	for p, e := range s.entriesAfter(&Selection{}, nil, index.cursor) {
		if len(part) >= indexPart {
			break
		}
		part = append(part, unindexed{partition: p, entry: e, object: e.object})
		index.cursor = &ObjectName{Namespace: p.namespace, Name: e.object.Name()}
	}
	if index.cursor != nil {
		index.cursor.Name = strings.Clone(index.cursor.Name) // Name points into the object
	}
	return part
}
