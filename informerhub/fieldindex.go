package informerhub

import "strings"

// maxFieldIndexes bounds the indexes of one store. The built-in kinds that have the
// most selectable fields have eleven.
const maxFieldIndexes = 16

// fieldIndex finds the entries whose objects have a value in a selectable field. It is
// made when somebody first selects by the field. Objects without a value are not in
// it.
type fieldIndex struct {
	read     func(*Object) string
	postings postings[string]
}

func (i *fieldIndex) add(e *entry, value string) {
	if value == "" {
		return
	}
	if _, known := i.postings[value]; !known {
		value = strings.Clone(value) // it points into the object
	}
	i.postings.add(value, e)
}

func (i *fieldIndex) remove(e *entry, value string) {
	if value != "" {
		i.postings.remove(value, e)
	}
}

// change moves an entry whose object has changed.
func (i *fieldIndex) change(e *entry, before, after *Object) {
	if from, to := i.read(before), i.read(after); from != to {
		i.remove(e, from)
		i.add(e, to)
	}
}

// indexField makes the index of a field, if there is none yet.
func (s *store) indexField(name string, read func(*Object) string) {
	if s.byField[name] != nil || len(s.byField) == maxFieldIndexes {
		return
	}
	made := &fieldIndex{read: read, postings: make(postings[string])}
	s.entries.Ascend(func(e *entry) bool {
		made.add(e, made.read(e.object))
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

// indexable reports whether an index finds what meets the condition. Names and
// namespaces have the order of the store.
func (c condition) indexable() bool {
	return c.equal && c.want != "" && c.field != "metadata.name" && c.field != "metadata.namespace"
}

// index sees to it that the fields of a selection are indexed.
func (c *Cache) index(sel *Selection) {
	for _, wanted := range sel.conditions {
		if !wanted.indexable() || c.isIndexed(wanted.field) {
			continue
		}
		c.mu.Lock()
		c.store.indexField(wanted.field, wanted.value)
		c.mu.Unlock()
	}
}

func (c *Cache) isIndexed(field string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.store.byField[field] != nil || len(c.store.byField) == maxFieldIndexes
}
