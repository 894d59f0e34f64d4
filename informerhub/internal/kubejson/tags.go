package kubejson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

// field describes a struct's field, and returns its number.
func (b *builder) field(structField reflect.StructField) (field, int, error) {
	name, options, err := readJSONTag(structField)
	if err != nil {
		return field{}, 0, err
	}
	if structField.Type == typeMetaType && structField.Anonymous && structField.Tag.Get("protobuf") == "" {
		return field{shape: typeMeta}, 0, nil
	}
	number, err := readProtobufTag(structField)
	if err != nil {
		return field{}, 0, err
	}
	f := field{}
	if err := b.shape(&f, structField.Type); err != nil {
		return field{}, 0, err
	}
	if name == "" {
		err := f.makeInline(structField.Type)
		return f, number, err
	}
	f.name = memberName(name)
	err = f.leaveOut(structField.Type, options)
	return f, number, err
}

// readJSONTag reads a field's name, which is empty for an inline field, and its options.
func readJSONTag(structField reflect.StructField) (name string, options []string, err error) {
	parts := strings.Split(structField.Tag.Get("json"), ",")
	name, options = parts[0], parts[1:]
	for _, option := range options {
		if !slices.Contains([]string{"", "inline", "omitempty", "omitzero"}, option) {
			return "", nil, fmt.Errorf("the option %q is not supported", option)
		}
	}
	switch {
	case !structField.IsExported():
		return "", nil, errors.New("it is not exported")
	case name == "-":
		return "", nil, errors.New("it is not in the JSON")
	case name == "" && !structField.Anonymous:
		return "", nil, errors.New("it has no name in JSON")
	}
	return name, options, nil
}

// readProtobufTag reads a field's number.
func readProtobufTag(structField reflect.StructField) (int, error) {
	parts := strings.Split(structField.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0, errors.New("it has no number")
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil || number < 1 || number > maxNumber {
		return 0, fmt.Errorf("%q is not a supported field number", parts[1])
	}
	return number, nil
}

// shape determines the form of a field's values.
func (b *builder) shape(f *field, t reflect.Type) (err error) {
	isMessage := reflect.PointerTo(t).Implements(unmarshalerType)
	switch {
	case t.Kind() == reflect.Pointer:
		f.shape = single
		f.element, err = b.element(t.Elem())
	case t.Kind() == reflect.Slice && !isMessage && t != reflect.TypeFor[[]byte]():
		f.shape = list
		f.element, err = b.listElement(t)
	case t.Kind() == reflect.Map:
		f.shape = mapping
		f.element, err = b.entry(t)
	default:
		f.shape = single
		f.element, err = b.element(t)
	}
	return err
}

// listElement describes the elements of a list.
func (b *builder) listElement(t reflect.Type) (element, error) {
	e, err := b.element(t.Elem())
	if err == nil && e.kind == stringsElement {
		err = fmt.Errorf("%v is a list of lists", t)
	}
	return e, err
}

// entry describes the values of a map.
func (b *builder) entry(t reflect.Type) (element, error) {
	if t.Key().Kind() != reflect.String {
		return element{}, fmt.Errorf("the keys of %v are not strings", t)
	}
	e, err := b.element(t.Elem())
	if err == nil && e.wire() != protoscan.Bytes {
		err = fmt.Errorf("the values of %v are numbers", t)
	}
	return e, err
}

func (f *field) makeInline(t reflect.Type) error {
	if t.Kind() != reflect.Struct || f.kind != messageElement {
		return errors.New("it is inline, but not a message")
	}
	f.shape = inline
	f.absent = members(reflect.Zero(t).Interface())
	return nil
}

// leaveOut determines when a field is omitted, and what is written if it is absent.
func (f *field) leaveOut(t reflect.Type, options []string) error {
	omitEmpty, omitZero := slices.Contains(options, "omitempty"), slices.Contains(options, "omitzero")
	isStruct := t.Kind() == reflect.Struct // which is never empty
	isTime := isStruct && f.kind == timeElement
	if omitZero && !isTime {
		return errors.New("omitzero is supported only for times")
	}
	f.omit = omitZero || omitEmpty && !isStruct && t.Kind() != reflect.Pointer
	if omitZero || omitEmpty && !isStruct {
		return nil
	}
	text, err := json.Marshal(reflect.Zero(t).Interface())
	f.absent = f.name + string(text)
	return err
}
