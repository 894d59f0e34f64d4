package kubejson

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

// value writes one value.
func (w *writer) value(e *element, part []byte) bool {
	switch e.kind {
	case stringElement:
		w.out = appendString(w.out, part)
	case bytesElement:
		w.base64(part)
	case boolElement:
		w.out = strconv.AppendBool(w.out, number(part) != 0)
	case int32Element:
		w.out = strconv.AppendInt(w.out, int64(int32(number(part))), 10)
	case int64Element:
		w.out = strconv.AppendInt(w.out, int64(number(part)), 10)
	case messageElement:
		return w.object(e.message, part)
	case stringsElement:
		return w.strings(part)
	case timeElement:
		return w.time(part)
	case microTimeElement:
		return w.microTime(part)
	case quantityElement:
		return w.quantity(e, part)
	case intOrStringElement:
		return w.intOrString(part)
	default:
		return w.own(e, part)
	}
	return true
}

// empty reports whether encoding/json treats the value as empty, or as zero for a time.
func (e *element) empty(part []byte) bool {
	switch e.kind {
	case boolElement, int64Element:
		return number(part) == 0
	case int32Element:
		return int32(number(part)) == 0
	case timeElement:
		at, ok := readTime(part)
		return ok && at.IsZero()
	}
	return len(part) == 0
}

// number returns a varint that was checked before.
func number(part []byte) uint64 {
	n, _ := protoscan.Uvarint(part, 0)
	return n
}

func (w *writer) base64(part []byte) {
	w.out = append(w.out, '"')
	w.out = base64.StdEncoding.AppendEncode(w.out, part)
	w.out = append(w.out, '"')
}

// own writes a value through its Go type.
func (w *writer) own(e *element, part []byte) bool {
	typed := reflect.New(e.goType).Interface()
	if typed.(unmarshaler).Unmarshal(part) != nil {
		return false
	}
	text, err := json.Marshal(typed)
	w.out = append(w.out, text...)
	return err == nil
}
