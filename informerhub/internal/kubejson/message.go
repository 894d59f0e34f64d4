package kubejson

import (
	"reflect"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

// message describes the Go type of a message.
type message struct {
	fields []field      // in the order of their JSON
	places []fieldPlace // by field number
	always fieldSet     // the fields that are written even if they are absent
}

// fieldPlace is the data for finding a field.
type fieldPlace struct {
	at       int16 // index in fields, or unknown
	wire     uint8
	repeated bool
}

// unknown is the index of a field that the Go type does not have.
const unknown = -1

// maxNumber is the highest field number that is looked up in an array.
const maxNumber = 1 << 10

// place returns the place of a field.
func (m *message) place(number uint64) fieldPlace {
	if number >= uint64(len(m.places)) {
		return fieldPlace{at: unknown}
	}
	return m.places[number]
}

// field describes one field of a message.
type field struct {
	element
	shape shape
	// name begins the field's JSON: a comma, the quoted name, a colon.
	name string
	// absent is the JSON of the field, with its name, if the message does not have it; empty if the
	// field is omitted then.
	absent string
	// omit omits a value that is in the message but empty.
	omit bool
}

func (f *field) repeated() bool { return f.shape == list || f.shape == mapping }

// shape is the number and form of the values of a field in a message.
type shape uint8

const (
	single   shape = iota
	list           // once for each element
	mapping        // once for each entry, which is a message of a key and a value
	inline         // a message whose members are among those of the containing message
	typeMeta       // not in the message: the kind is known from elsewhere
)

// element describes a value of a field, of its list or of its map.
type element struct {
	kind    elementKind
	message *message     // of a messageElement
	goType  reflect.Type // of an ownElement, and of types that may have to be converted like one
}

type elementKind uint8

const (
	boolElement elementKind = iota
	int32Element
	int64Element
	stringElement
	bytesElement
	messageElement
	stringsElement // a message that represents a list of strings, its field 1
	timeElement
	microTimeElement
	quantityElement
	intOrStringElement
	ownElement // any other type with its own JSON

	lastVarint = int64Element
)

// wire returns the wire type of an element. Struct tags do not have it: some are wrong, because
// generated code does not use them.
func (e *element) wire() uint8 {
	if e.kind <= lastVarint {
		return protoscan.Varint
	}
	return protoscan.Bytes
}
