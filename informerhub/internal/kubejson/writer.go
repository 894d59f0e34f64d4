package kubejson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

// writer writes the JSON of one object. Its methods report whether the result is certain; if not,
// their output is invalid.
type writer struct {
	out []byte
	// slots are those of the current message, after those of the messages that contain it.
	slots []slot
}

// writers are reused for their slots: initially enough for all kinds of client-go.
var writers = sync.Pool{New: func() any { return &writer{slots: make([]slot, 0, 192)} }}

// object writes a message.
//
// Members are written with the comma before them; the first comma is replaced by the brace.
func (w *writer) object(m *message, content []byte) bool {
	start := len(w.out)
	if !w.members(m, content) {
		return false
	}
	if len(w.out) == start {
		w.out = append(w.out, '{', '}')
		return true
	}
	w.out[start] = '{'
	w.out = append(w.out, '}')
	return true
}

// members writes the members of a message. Fields are in the order of their numbers, and members in
// that of the Go type. So fields are found first, and then written.
func (w *writer) members(m *message, content []byte) bool {
	base := len(w.slots)
	g := gathered{slots: w.open(len(m.fields))}
	if !g.gather(m, content) {
		return false
	}
	todo := g.found.or(m.always)
	for at, ok := todo.next(); ok; at, ok = todo.next() {
		f := &m.fields[at]
		if !g.found.has(at) {
			w.out = append(w.out, f.absent...)
		} else if !w.field(f, content[g.slots[at].from:g.slots[at].to]) {
			return false
		}
	}
	w.slots = w.slots[:base]
	return true
}

// open returns slots for a message.
func (w *writer) open(fields int) []slot {
	base := len(w.slots)
	w.slots = slices.Grow(w.slots, fields)[:base+fields]
	return w.slots[base:]
}

func (w *writer) field(f *field, part []byte) bool {
	switch f.shape {
	case single:
		if f.omit && f.empty(part) {
			return true
		}
		w.out = append(w.out, f.name...)
		return w.value(&f.element, part)
	case inline:
		return w.members(f.message, part)
	case list:
		w.out = append(w.out, f.name...)
		return w.list(&f.element, part)
	case mapping:
		w.out = append(w.out, f.name...)
		return w.mapping(&f.element, part)
	}
	return false
}

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

// list writes the occurrences of a repeated field. As in an object, the first comma is replaced by
// the bracket.
func (w *writer) list(e *element, part []byte) bool {
	start := len(w.out)
	for i := 0; i < len(part); {
		_, i = protoscan.Uvarint(part, i) // the tag; all are of the same field
		from, to := protoscan.Value(part, i, e.wire())
		w.out = append(w.out, ',')
		if !w.value(e, part[from:to]) {
			return false
		}
		i = to
	}
	w.out[start] = '['
	w.out = append(w.out, ']')
	return true
}

// mapping writes the entries of a map. They must be in the order of their keys: a generated Marshal
// writes them in that order, and encoding/json sorts by it.
func (w *writer) mapping(e *element, part []byte) bool {
	start := len(w.out)
	var last []byte
	for i := 0; i < len(part); {
		_, i = protoscan.Uvarint(part, i)
		from, to := protoscan.Delimited(part, i)
		key, content, _, ok := protoscan.CutEntry(part[from:to])
		if !ok || len(w.out) > start && bytes.Compare(last, key) >= 0 {
			return false
		}
		w.out = appendString(append(w.out, ','), key)
		w.out = append(w.out, ':')
		if !w.value(e, content) {
			return false
		}
		last, i = key, to
	}
	w.out[start] = '{'
	w.out = append(w.out, '}')
	return true
}

// strings writes a message that represents a list of strings.
func (w *writer) strings(content []byte) bool {
	w.out = append(w.out, '[')
	for first := true; len(content) > 0; first = false {
		element, rest, ok := protoscan.CutDelimited(content, 1<<3|protoscan.Bytes)
		if !ok {
			return false
		}
		if !first {
			w.out = append(w.out, ',')
		}
		w.out = appendString(w.out, element)
		content = rest
	}
	w.out = append(w.out, ']')
	return true
}

const quantityTag = 1<<3 | protoscan.Bytes

// quantity writes a resource.Quantity: a string in its canonical form. An API server sends only
// that form. isCanonical recognizes it in the usual cases, and the Go type handles the others.
func (w *writer) quantity(e *element, content []byte) bool {
	text, rest, ok := protoscan.CutDelimited(content, quantityTag)
	if !ok || len(rest) > 0 || !isCanonical(text) {
		return w.own(e, content)
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, text...)
	w.out = append(w.out, '"')
	return true
}

// maxDigits is a number of digits that fits into every type that a quantity uses.
const maxDigits = 15

// isCanonical reports whether a quantity is certainly in its canonical form: an integer without
// leading zeros that the next suffix could not express with fewer digits.
func isCanonical(text []byte) bool {
	var mantissa uint64
	digits := 0
	for digits < len(text) && digits < maxDigits && '0' <= text[digits] && text[digits] <= '9' {
		mantissa = 10*mantissa + uint64(text[digits]-'0')
		digits++
	}
	if digits == 0 || text[0] == '0' {
		return len(text) == 1 && digits == 1
	}
	suffix := text[digits:]
	if len(suffix) == 2 && suffix[1] == 'i' {
		return mantissa%1024 != 0 && mantissa <= maxMantissa(suffix[0])
	}
	return mantissa%1000 != 0 && isDecimalSuffix(suffix)
}

func isDecimalSuffix(suffix []byte) bool {
	switch string(suffix) {
	case "", "m", "k", "M", "G", "T":
		return true
	}
	return false
}

// maxMantissa returns the greatest number before a binary suffix that is not capped.
func maxMantissa(prefix byte) uint64 {
	switch prefix {
	case 'K':
		return math.MaxInt64 >> 10
	case 'M':
		return math.MaxInt64 >> 20
	case 'G':
		return math.MaxInt64 >> 30
	case 'T':
		return math.MaxInt64 >> 40
	}
	return 0
}

// The tags of metav1.Timestamp.
const (
	secondsTag = 1<<3 | protoscan.Varint
	nanosTag   = 2<<3 | protoscan.Varint
)

// time writes a metav1.Time.
func (w *writer) time(content []byte) bool {
	at, ok := readTime(content)
	w.formatTime(at, time.RFC3339)
	return ok
}

// microTime writes a metav1.MicroTime.
func (w *writer) microTime(content []byte) bool {
	seconds, nanos, ok := readTimestamp(content)
	var at time.Time
	if len(content) > 0 {
		at = time.Unix(seconds, int64(time.Duration(nanos).Truncate(time.Microsecond)))
	}
	w.formatTime(at, metav1.RFC3339Micro)
	return ok
}

func (w *writer) formatTime(at time.Time, layout string) {
	if at.IsZero() {
		w.out = append(w.out, "null"...)
		return
	}
	w.out = append(w.out, '"')
	w.out = at.UTC().AppendFormat(w.out, layout)
	w.out = append(w.out, '"')
}

// readTime reads a metav1.Time. It has no fractions of a second. An empty message is the zero time,
// not 1970.
func readTime(content []byte) (at time.Time, ok bool) {
	if len(content) == 0 {
		return time.Time{}, true
	}
	seconds, _, ok := readTimestamp(content)
	return time.Unix(seconds, 0), ok
}

func readTimestamp(content []byte) (seconds int64, nanos int32, ok bool) {
	s, rest, _ := protoscan.CutVarint(content, secondsTag)
	n, rest, _ := protoscan.CutVarint(rest, nanosTag)
	return int64(s), int32(n), len(rest) == 0
}

// The tags of intstr.IntOrString.
const (
	typeTag   = 1<<3 | protoscan.Varint
	intValTag = 2<<3 | protoscan.Varint
	strValTag = 3<<3 | protoscan.Bytes
)

// intOrString writes an intstr.IntOrString: the one of its two values that its type names.
func (w *writer) intOrString(content []byte) bool {
	kind, rest, _ := protoscan.CutVarint(content, typeTag)
	number, rest, _ := protoscan.CutVarint(rest, intValTag)
	text, rest, _ := protoscan.CutDelimited(rest, strValTag)
	switch intstr.Type(kind) {
	case intstr.Int:
		w.out = strconv.AppendInt(w.out, int64(int32(number)), 10)
	case intstr.String:
		w.out = appendString(w.out, text)
	default:
		return false
	}
	return len(rest) == 0
}
