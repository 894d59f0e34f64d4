package informerhub

import (
	"iter"
	"slices"
)

// next returns the candidates of a selection behind a cursor, in order, as many as a
// watcher takes at once, and whether these are all that are left. A nil cursor is before
// the first object.
func (s *store) next(sel *Selection, cursor *ObjectName, most limits) (objects []*Object, all bool) {
	size := 0
	for object := range s.behind(sel, cursor, most.batch+1) {
		if len(objects) == most.batch || size >= most.partBytes {
			return objects, false
		}
		objects = append(objects, object)
		size += object.Size()
	}
	return objects, true
}

// behind returns the candidates of a selection behind a cursor, in order. It may stop
// after a number of them.
func (s *store) behind(sel *Selection, cursor *ObjectName, most int) iter.Seq[*Object] {
	if sel.among != nil || sel.name != "" && (sel.namespace != "" || !sel.namespaced) {
		return behindCursor(s.candidates(sel), cursor)
	}
	if lists, ok := s.indexed(sel); ok {
		return objectsOf(firstOf(lists, cursor, sel.namespace, most))
	}
	switch {
	case sel.namespace != "":
		return s.behindIn([]string{sel.namespace}, cursor)
	case sel.restricted:
		return s.behindIn(sel.namespaces, cursor)
	}
	return s.ascend(cursor, "")
}

func behindCursor(objects []*Object, cursor *ObjectName) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, object := range objects {
			if !cursor.passed(object) && !yield(object) {
				return
			}
		}
	}
}

func objectsOf(entries []*entry) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, e := range entries {
			if !yield(e.object) {
				return
			}
		}
	}
}

// firstOf returns the first entries behind a cursor of some lists, in order.
func firstOf(lists [][]*entry, cursor *ObjectName, namespace string, most int) []*entry {
	waiting := make([][]*entry, len(lists))
	for i, entries := range lists {
		entries = within(entries, namespace)
		if cursor != nil {
			first, _ := slices.BinarySearchFunc(entries, cursor, func(e *entry, cursor *ObjectName) int {
				if cursor.passed(e.object) {
					return -1
				}
				return 1
			})
			entries = entries[first:]
		}
		waiting[i] = entries[:min(len(entries), most)]
	}
	first := merged(waiting)
	return first[:min(len(first), most)]
}

// behindIn returns the objects of some namespaces, which are in order, behind a cursor.
func (s *store) behindIn(namespaces []string, cursor *ObjectName) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, namespace := range namespaces {
			if cursor != nil && namespace < cursor.Namespace {
				continue
			}
			for object := range s.ascend(cursor, namespace) {
				if object.namespace != namespace {
					break
				}
				if !yield(object) {
					return
				}
			}
		}
	}
}

// ascend returns the objects behind a cursor, in order, from a namespace on.
func (s *store) ascend(cursor *ObjectName, namespace string) iter.Seq[*Object] {
	from := &Object{namespace: namespace}
	if cursor != nil && cursor.Namespace >= namespace {
		from.namespace, from.name = cursor.Namespace, cursor.Name
	}
	return func(yield func(*Object) bool) {
		s.entries.AscendGreaterOrEqual(&entry{object: from}, func(e *entry) bool {
			return cursor.passed(e.object) || yield(e.object)
		})
	}
}
