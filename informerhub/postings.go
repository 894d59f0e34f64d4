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

// union are the entries that have any of some values, in order. The result may share the
// postings' memory.
func (p postings[V]) union(values []V) []*entry {
	if len(values) == 1 {
		return p[values[0]]
	}
	var entries []*entry
	for _, value := range values {
		entries = append(entries, p[value]...)
	}
	slices.SortFunc(entries, compareEntries)
	return slices.Compact(entries)
}
