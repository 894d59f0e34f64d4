package object

import "slices"

// FieldReader reads a field that objects are selected by. Most fields have at most one value. A
// field within a list may have several.
type FieldReader struct {
	// Has reports whether a value is among the field's.
	Has func(object *Object, value string) bool
	// Values returns the field's values, without empty ones. They may point into the object.
	Values func(*Object) []string
}

// OneValue returns a reader of a field with a single value, which is empty if there is none.
func OneValue(read func(*Object) string) FieldReader {
	return FieldReader{
		Has: func(object *Object, value string) bool { return read(object) == value },
		Values: func(object *Object) []string {
			if value := read(object); value != "" {
				return []string{value}
			}
			return nil
		},
	}
}

// Condition is one requirement of a field selector, or of a relation.
type Condition struct {
	// Field is the field's name.
	Field string
	// Reader reads the field.
	Reader FieldReader
	// Values are those of which the field must have one, if Equal is set, or none otherwise.
	Values []string
	Equal  bool
}

// Meets reports whether an object meets the condition.
func (c Condition) Meets(object *Object) bool {
	for _, value := range c.Values {
		if c.Reader.Has(object, value) {
			return c.Equal
		}
	}
	return !c.Equal
}

// Indexable reports whether an index finds the objects that meet the condition. Names and
// namespaces need no index, because the store is ordered by them.
func (c Condition) Indexable() bool {
	return c.Equal && !slices.Contains(c.Values, "") && c.Field != "metadata.name" && c.Field != "metadata.namespace"
}
