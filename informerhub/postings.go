package informerhub

import "slices"

// postings are the entries that have each of some values, in the order of the store.
type postings[V comparable] map[V][]*entry

func (p postings[V]) add(value V, e *entry) {
	entries := p[value]
	if at, found := slices.BinarySearchFunc(entries, e, compareEntries); !found {
		p[value] = slices.Insert(entries, at, e)
	}
}

func (p postings[V]) remove(value V, e *entry) {
	entries := p[value]
	at, found := slices.BinarySearchFunc(entries, e, compareEntries)
	switch {
	case !found:
	case len(entries) == 1:
		delete(p, value)
	default:
		p[value] = slices.Delete(entries, at, at+1)
	}
}

// lists returns the entries that have each of some values. The result shares the
// postings' memory.
func (p postings[V]) lists(values []V) [][]*entry {
	var lists [][]*entry
	for _, value := range values {
		if entries := p[value]; len(entries) > 0 {
			lists = append(lists, entries)
		}
	}
	return lists
}

// merged returns the entries of some lists, each of them in order, in order and once. The
// result may share their memory.
func merged(lists [][]*entry) []*entry {
	if len(lists) == 1 {
		return lists[0]
	}
	var entries []*entry
	for _, list := range lists {
		entries = append(entries, list...)
	}
	slices.SortFunc(entries, compareEntries)
	return slices.Compact(entries)
}
