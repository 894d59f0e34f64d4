package kubejson

import "k8s.io/apimachinery/pkg/runtime/schema"

// Message describes the protobuf message of a Go type, for readers without the type: it maps each
// field to its member in JSON.
type Message message

// Describe returns the description of a kind's message; nil if only the Go type can convert the
// kind.
func Describe(kind schema.GroupVersionKind) *Message { return (*Message)(rootOf(kind)) }

// Field returns a field by its number; nil if the Go type does not have it.
func (m *Message) Field(number uint64) *Field {
	p := (*message)(m).place(number)
	if p.at == unknown {
		return nil
	}
	return (*Field)(&m.fields[p.at])
}

// Field describes a field of a message.
type Field field

// Name returns the name of the field's member. It is invalid for an inline field.
func (f *Field) Name() string { return f.name[len(`,"`) : len(f.name)-len(`":`)] }

// IsInline reports whether the field is a message whose members are among those of the containing
// message.
func (f *Field) IsInline() bool { return f.shape == inline }

// IsList reports whether the field occurs in its message once for each element.
func (f *Field) IsList() bool { return f.shape == list }

// IsMap reports whether the field occurs in its message once for each entry, which is a message of
// a key, its field 1, and a value, its field 2.
func (f *Field) IsMap() bool { return f.shape == mapping }

// Message returns the description of the field's values, or of the values of its list or map; nil
// if their JSON is not an object of the fields of a message.
func (f *Field) Message() *Message { return (*Message)(f.message) }

// IsScalar reports whether the JSON of these values is neither an object nor a list. Values that
// are not scalar and have no Message have their own JSON form.
func (f *Field) IsScalar() bool {
	switch f.kind {
	case messageElement, stringsElement, ownElement:
		return false
	}
	return true
}
