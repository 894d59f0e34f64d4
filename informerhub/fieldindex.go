package informerhub

import (
	"slices"
	"strings"
)

// maxFieldIndexes bounds the indexes of one store. The built-in kinds that have the
// most selectable fields have eleven.
const maxFieldIndexes = 16

// fieldIndex finds the entries whose objects have a value in a field. It is made when
// somebody first selects by the field. Objects without a value are not in it.
type fieldIndex struct {
	reads    fieldReader
	postings postings[string]
}

func newFieldIndex(reads fieldReader) *fieldIndex {
	return &fieldIndex{reads: reads, postings: make(postings[string])}
}

func (i *fieldIndex) add(e *entry, values []string) {
	for _, value := range values {
		if _, known := i.postings[value]; !known {
			value = strings.Clone(value) // it points into the object
		}
		i.postings.add(value, e)
	}
}

func (i *fieldIndex) remove(e *entry, values []string) {
	for _, value := range values {
		i.postings.remove(value, e)
	}
}

// change moves an entry whose object has changed.
func (i *fieldIndex) change(e *entry, before, after *Object) {
	if from, to := i.reads.values(before), i.reads.values(after); !slices.Equal(from, to) {
		i.remove(e, from)
		i.add(e, to)
	}
}

// indexField makes the index of a field, if there is none yet.
func (s *store) indexField(name string, reads fieldReader) {
	if s.byField[name] != nil || len(s.byField) == maxFieldIndexes {
		return
	}
	made := newFieldIndex(reads)
	s.entries.Ascend(func(e *entry) bool {
		made.add(e, reads.values(e.object))
		return true
	})
	s.byField[name] = made
}

// indexedBy finds the index that a condition can be looked up in.
func (s *store) indexedBy(c condition) (*fieldIndex, bool) {
	if !c.indexable() {
		return nil, false
	}
	found, ok := s.byField[c.field]
	return found, ok
}

// index sees to it that the fields of a selection are indexed.
func (c *Cache) index(sel *Selection) {
	for _, wanted := range sel.conditions {
		if !wanted.indexable() || c.isIndexed(wanted.field) {
			continue
		}
		c.mu.Lock()
		c.store.indexField(wanted.field, wanted.reads)
		c.mu.Unlock()
	}
}

func (c *Cache) isIndexed(field string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.store.byField[field] != nil || len(c.store.byField) == maxFieldIndexes
}
