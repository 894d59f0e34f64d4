package informerhub

import "slices"

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
