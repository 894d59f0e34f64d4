package informerhub

import "slices"

// fieldReader reads a field that objects are selected by. Most fields have at most one value. A
// field within a list may have several.
type fieldReader struct {
	// has reports whether a value is among the field's.
	has func(object *Object, value string) bool
	// values returns the field's values, without empty ones. They may point into the object.
	values func(*Object) []string
}

// oneValue returns a reader of a field with a single value, which is empty if there is none.
func oneValue(read func(*Object) string) fieldReader {
	return fieldReader{
		has: func(object *Object, value string) bool { return read(object) == value },
		values: func(object *Object) []string {
			if value := read(object); value != "" {
				return []string{value}
			}
			return nil
		},
	}
}

// condition is one requirement of a field selector, or of a relation.
type condition struct {
	field  string
	reader fieldReader
	values []string // any of them
	equal  bool     // otherwise none of them
}

// meets reports whether an object meets the condition.
func (c condition) meets(object *Object) bool {
	for _, value := range c.values {
		if c.reader.has(object, value) {
			return c.equal
		}
	}
	return !c.equal
}

// indexable reports whether an index finds the objects that meet the condition. Names and
// namespaces need no index, because the store is ordered by them.
func (c condition) indexable() bool {
	return c.equal && !slices.Contains(c.values, "") && c.field != "metadata.name" && c.field != "metadata.namespace"
}
