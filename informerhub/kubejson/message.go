package kubejson

import (
	"reflect"

	"github.com/kubeconnect/kubeconnect/informerhub/protoscan"
)

// message is what is known of the Go type of a message.
type message struct {
	fields []field  // in the order of their JSON
	places []place  // by field number
	always fieldSet // the fields that are written also when they are absent
}

// place is what finding a field takes.
type place struct {
	at       int16 // in fields, or unknown
	wire     uint8
	repeated bool
}

// unknown is where a field is that the Go type does not have.
const unknown = -1

// maxNumber is the highest field number that is looked up in an array.
const maxNumber = 1 << 10

// place finds a field.
func (m *message) place(number uint64) place {
	if number >= uint64(len(m.places)) {
		return place{at: unknown}
	}
	return m.places[number]
}

// field is one field of a message.
type field struct {
	element
	shape shape
	// name begins the field's JSON: a comma, the quoted name, a colon.
	name string
	// absent is the JSON of the field when it does not stand in the message, name
	// and all; empty if it is left out then.
	absent string
	// omit leaves out a value that stands in the message, but is empty.
	omit bool
}

func (f *field) repeated() bool { return f.shape == list || f.shape == mapping }

// shape is how often the values of a field stand in a message, and where.
type shape uint8

const (
	single   shape = iota
	list           // once for each element
	mapping        // once for each entry, which is a message of a key and a value
	inline         // a message whose members stand among those that it is in
	typeMeta       // not in the message: the kind is told beside it
)

// element is a value of a field, or what its list or map is of.
type element struct {
	kind    elementKind
	message *message     // of a messageElement
	goType  reflect.Type // of an ownElement, and of what may have to be read as one
}

type elementKind uint8

const (
	boolElement elementKind = iota
	int32Element
	int64Element
	stringElement
	bytesElement
	messageElement
	stringsElement // a message that stands for a list of strings, its field 1
	timeElement
	microTimeElement
	quantityElement
	intOrStringElement
	ownElement // any other type that writes JSON of its own

	lastVarint = int64Element
)

// wire is the wire type that an element is written in. Struct tags do not tell it: some
// are wrong, as no generated code goes by them.
func (e *element) wire() uint8 {
	if e.kind <= lastVarint {
		return protoscan.Varint
	}
	return protoscan.Bytes
}
