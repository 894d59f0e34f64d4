package informerhub

import (
	"iter"
	"slices"
)

// next returns the candidates of a selection behind a cursor, in order, as many as a
// watcher takes at once, and whether these are all that are left. They are looked up by what
// stepwise has returned. A nil cursor is before the first object.
func (s *store) next(sel *Selection, by *lookup, cursor *ObjectName, most limits) (objects []*Object, all bool) {
	size := 0
	for object := range s.behind(sel, by, cursor) {
		if len(objects) == most.batch || size >= most.partBytes {
			return objects, false
		}
		objects = append(objects, object)
		size += object.Size()
	}
	return objects, true
}

// stepwise is narrowest for a walk: a lookup of one value, whose entries are in order.
func (s *store) stepwise(sel *Selection) *lookup {
	if sel.name != "" || sel.among != nil {
		return nil
	}
	single := slices.DeleteFunc(slices.Clone(sel.lookups), func(by *lookup) bool { return by.size() != 1 })
	partitions := s.reached(sel, nil)
	return s.narrowest(single, partitions, entriesIn(partitions))
}

// behind returns the candidates of a selection behind a cursor, in order.
func (s *store) behind(sel *Selection, by *lookup, cursor *ObjectName) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		if sel.among != nil {
			for _, object := range s.named(sel.among, nil) {
				if !cursor.passed(object) && !yield(object) {
					return
				}
			}
			return
		}
		for _, e := range s.entriesBehind(sel, by, cursor) {
			if !yield(e.object) {
				return
			}
		}
	}
}

// entriesBehind returns the entries, and their partitions, among which a selection's are,
// behind a cursor, in order.
func (s *store) entriesBehind(sel *Selection, by *lookup, cursor *ObjectName) iter.Seq2[*partition, *entry] {
	return func(yield func(*partition, *entry) bool) {
		looked := int64(0)
		defer func() { s.looked.Add(looked) }()
		for _, p := range s.reached(sel, cursor) {
			looked++
			if !p.behind(sel, by, cursor, func(e *entry) bool { looked++; return yield(p, e) }) {
				return
			}
		}
	}
}

// behind visits the entries of the partition behind a cursor. It reports whether the visitor
// wants more.
func (p *partition) behind(sel *Selection, by *lookup, cursor *ObjectName, visit func(*entry) bool) bool {
	after := ""
	if cursor != nil && cursor.Namespace == p.namespace {
		after = cursor.Name
	}
	from := &entry{object: &Object{name: after}}
	more := true
	visitBehind := func(e *entry) bool {
		more = e.object.name == after || visit(e)
		return more
	}
	switch {
	case sel.name != "":
		from.object.name = sel.name
		if e, ok := p.entries.Get(from); ok && sel.name > after {
			visitBehind(e)
		}
	case by != nil:
		entries := by.entries(p, 0)
		first, _ := slices.BinarySearchFunc(entries, from, compareNames)
		for _, e := range entries[first:] {
			if !visitBehind(e) {
				break
			}
		}
	default:
		p.entries.AscendGreaterOrEqual(from, visitBehind)
	}
	return more
}
