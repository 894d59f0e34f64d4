package kubejson

import "k8s.io/apimachinery/pkg/runtime/schema"

// Message describes the protobuf message of a Go type to those who read it without the
// type: which member of its JSON each field is.
type Message message

// Describe describes the message of a kind; nil if the kind is left to its Go type.
func Describe(kind schema.GroupVersionKind) *Message { return (*Message)(rootOf(kind)) }

// Field finds a field by its number; nil if the Go type does not have it.
func (m *Message) Field(number uint64) *Field {
	p := (*message)(m).place(number)
	if p.at == unknown {
		return nil
	}
	return (*Field)(&m.fields[p.at])
}

// Field describes a field of a message.
type Field field

// Name is the name of the field's member; of no use for one that is inline.
func (f *Field) Name() string { return f.name[len(`,"`) : len(f.name)-len(`":`)] }

// IsInline reports whether the field is a message whose members stand among those of the
// message that it is in.
func (f *Field) IsInline() bool { return f.shape == inline }

// IsList reports whether the field stands in its message once for each element.
func (f *Field) IsList() bool { return f.shape == list }

// IsMap reports whether the field stands in its message once for each entry, which is a
// message of a key, its field 1, and a value, its field 2.
func (f *Field) IsMap() bool { return f.shape == mapping }

// Message describes the values of the field, or those of its list or map; nil if their
// JSON is no object of the fields of a message.
func (f *Field) Message() *Message { return (*Message)(f.message) }

// IsScalar reports whether the JSON of these values is neither an object nor a list. What
// is not that either, and has no Message, writes JSON in a way of its own.
func (f *Field) IsScalar() bool {
	switch f.kind {
	case messageElement, stringsElement, ownElement:
		return false
	}
	return true
}
