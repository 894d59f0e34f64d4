package kubejson

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// unmarshaler is the method with which client-go's Go types read a message.
type unmarshaler interface{ Unmarshal([]byte) error }

var (
	unmarshalerType   = reflect.TypeFor[unmarshaler]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	typeMetaType      = reflect.TypeFor[metav1.TypeMeta]()
)

// specials are the types with their own JSON that are written directly.
var specials = map[reflect.Type]elementKind{
	reflect.TypeFor[metav1.Time]():        timeElement,
	reflect.TypeFor[metav1.MicroTime]():   microTimeElement,
	reflect.TypeFor[resource.Quantity]():  quantityElement,
	reflect.TypeFor[intstr.IntOrString](): intOrStringElement,
}

// builder builds messages from Go types. It returns an error for an unsupported type; the messages
// built until then are then invalid.
type builder struct {
	built map[reflect.Type]*message
}

func (b *builder) message(t reflect.Type) (*message, error) {
	if m := b.built[t]; m != nil {
		return m, nil
	}
	if !reflect.PointerTo(t).Implements(unmarshalerType) {
		return nil, fmt.Errorf("%v has no protobuf form", t)
	}
	m := &message{}
	b.built[t] = m // before its fields, which may be of the same type
	return m, b.fields(m, t)
}

func (b *builder) fields(m *message, t reflect.Type) error {
	for i := range t.NumField() {
		f, number, err := b.field(t.Field(i))
		if err == nil {
			err = m.add(f, number)
		}
		if err != nil {
			return fmt.Errorf("%v.%s: %w", t, t.Field(i).Name, err)
		}
	}
	return m.checkNames()
}

// add adds a field. A field without a number never occurs in the message.
func (m *message) add(f field, number int) error {
	at := int16(len(m.fields))
	if at == maxFields {
		return errors.New("there are too many fields")
	}
	m.fields = append(m.fields, f)
	if f.absent != "" {
		m.always.add(at)
	}
	if number == 0 {
		return nil
	}
	for len(m.places) <= number {
		m.places = append(m.places, fieldPlace{at: unknown})
	}
	if m.places[number].at != unknown {
		return errors.New("another field has its number")
	}
	m.places[number] = fieldPlace{at, f.wire(), f.repeated()}
	return nil
}

// checkNames checks that member names are unique: encoding/json would omit one or both of two
// members with the same name.
func (m *message) checkNames() error {
	seen := make(map[string]bool)
	for _, name := range m.names() {
		if seen[name] {
			return fmt.Errorf("two members are called %s", name)
		}
		seen[name] = true
	}
	return nil
}

func (m *message) names() (names []string) {
	for _, f := range m.fields {
		switch f.shape {
		case inline:
			names = append(names, f.message.names()...)
		case typeMeta:
			names = append(names, memberName("kind"), memberName("apiVersion"))
		default:
			names = append(names, f.name)
		}
	}
	return names
}

// element describes the type of a value.
func (b *builder) element(t reflect.Type) (element, error) {
	if kind, ok := specials[t]; ok {
		return element{kind: kind, goType: t}, nil
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t.Implements(jsonMarshalerType) && pointer.Implements(unmarshalerType):
		return element{kind: ownElement, goType: t}, nil
	case pointer.Implements(jsonMarshalerType), pointer.Implements(textMarshalerType):
		return element{}, fmt.Errorf("%v has its own JSON or text form", t)
	case t.Kind() == reflect.Struct:
		m, err := b.message(t)
		return element{kind: messageElement, message: m}, err
	case pointer.Implements(unmarshalerType):
		return stringsOf(t)
	}
	return plainElement(t)
}

func stringsOf(t reflect.Type) (element, error) {
	if t.Kind() != reflect.Slice || t.Elem() != reflect.TypeFor[string]() {
		return element{}, fmt.Errorf("%v is a message, but neither a struct nor a list of strings", t)
	}
	return element{kind: stringsElement}, nil
}

func plainElement(t reflect.Type) (element, error) {
	switch t.Kind() {
	case reflect.String:
		return element{kind: stringElement}, nil
	case reflect.Bool:
		return element{kind: boolElement}, nil
	case reflect.Int32:
		return element{kind: int32Element}, nil
	case reflect.Int64:
		return element{kind: int64Element}, nil
	}
	if t == reflect.TypeFor[[]byte]() {
		return element{kind: bytesElement}, nil
	}
	return element{}, fmt.Errorf("%v is not supported", t)
}

// memberName returns the beginning of a member.
func memberName(name string) string {
	quoted, _ := json.Marshal(name)
	return "," + string(quoted) + ":"
}

// kindMembers returns the members with an object's kind.
func kindMembers(kind schema.GroupVersionKind) string {
	var meta metav1.TypeMeta
	meta.SetGroupVersionKind(kind)
	return members(meta)
}

// members returns the JSON of a value without its braces, as it follows other members.
func members(value any) string {
	text, _ := json.Marshal(value)
	if len(text) <= len("{}") {
		return ""
	}
	return "," + string(text[1:len(text)-1])
}
