package informerhub

import (
	"iter"
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

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
		p.entries.AscendGreaterOrEqual(from, visitEntry)
	}
	return more
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
