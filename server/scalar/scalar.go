// Package scalar has the values of JSON that are neither objects nor lists: how they are parsed, how
// they are ordered among each other, and how they are read from objects. See ListRequest.order_by.
package scalar

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fvbommel/sortorder"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Value is a JSON value that is neither an object nor a list.
type Value struct {
	class class
	text  string  // of a string, also of one that is a quantity
	value float64 // of a number or a quantity, rounded
	exact Decimal // the exact value, if it can differ from value
}

// class is the kind of a scalar's value. Scalars are ordered by class first, in the order of the
// constants.
type class uint8

const (
	absent class = iota // null, or no value
	isFalse
	isTrue
	numeric // numbers, and strings that are quantities
	textual
)

// Parse parses a JSON value. It returns false for an object or a list.
func Parse(value []byte) (Value, bool) {
	switch value[0] {
	case '{', '[':
		return Value{}, false
	case 'n':
		return Value{}, true
	case 'f':
		return Value{class: isFalse}, true
	case 't':
		return Value{class: isTrue}, true
	case '"':
		return ofText(unquote(value)), true
	}
	return ofNumber(string(value)), true
}

// unquote returns the text of a JSON string. An invalid string is an empty one.
func unquote(value []byte) (text string) {
	for i, c := range value[1:] {
		switch {
		case c == '"' && i == len(value)-2:
			return string(value[1 : len(value)-1])
		case c < ' ' || c > '~' || c == '"' || c == '\\':
			_ = json.Unmarshal(value, &text)
			return text
		}
	}
	return ""
}

// ofNumber returns the value of a JSON number. A number that is too expensive to compute with
// is treated as a string.
func ofNumber(text string) Value {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !hasSmallExponent(text) {
		return Value{class: textual, text: text}
	}
	s := Value{class: numeric, value: withoutSign(value)}
	if isShortInteger(text) {
		return s
	}
	exact, ok := parseDecimal(text)
	if !ok {
		return Value{class: textual, text: text}
	}
	s.exact = exact
	return s
}

// withoutSign returns 0 for -0.
func withoutSign(value float64) float64 {
	if value == 0 {
		return 0
	}
	return value
}

// ofText returns the value of a string, which may be a quantity.
func ofText(text string) Value {
	s := Value{class: textual, text: text}
	if !mayBeQuantity(text) {
		return s
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return s
	}
	s.class = numeric
	if isShortInteger(text) {
		value, _ := strconv.ParseFloat(text, 64)
		s.value = withoutSign(value)
		return s
	}
	exact := decimalOfQuantity(quantity)
	s.exact, s.value = exact, exact.Float64()
	return s
}

const (
	// maxQuantityLength and maxExponentDigits bound what is treated as a number, because computing
	// with longer ones takes unbounded time.
	maxQuantityLength = 64
	maxExponentDigits = 3
)

// mayBeQuantity reports whether a string can be a quantity, so that parsing it is worthwhile.
func mayBeQuantity(text string) bool {
	return text != "" && len(text) <= maxQuantityLength && strings.IndexByte("0123456789+-.", text[0]) >= 0 && hasSmallExponent(text)
}

// hasSmallExponent reports whether a number is small enough to compute with.
func hasSmallExponent(text string) bool {
	at := strings.IndexAny(text, "eE")
	return len(text) <= maxQuantityLength && (at < 0 || len(strings.TrimLeft(text[at+1:], "+-0")) <= maxExponentDigits)
}

// isShortInteger reports whether a number is an integer that a float64 represents exactly.
func isShortInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return len(digits) <= 15 && strings.Trim(digits, "0123456789") == ""
}

// Compare orders values: see ListRequest.order_by. Strings are in kubectl's order: "web-2" before
// "web-10".
func (s Value) Compare(other Value) int {
	switch {
	case s.class != other.class:
		return cmp.Compare(s.class, other.class)
	case s.class == numeric:
		return s.compareNumbers(other)
	case s.class == textual:
		return sortorder.NaturalCompare(s.text, other.text)
	}
	return 0
}

// compareNumbers compares numbers. Rounding preserves the order, so the exact values matter only if
// the rounded ones are equal.
func (s Value) compareNumbers(other Value) int {
	order := cmp.Compare(s.value, other.value)
	if order == 0 && (s.exact.number != nil || other.exact.number != nil) {
		return s.decimal().Compare(other.decimal())
	}
	return order
}

func (s Value) decimal() Decimal {
	if s.exact.number != nil {
		return s.exact
	}
	return decimalOfInteger(int64(s.value))
}

// Number returns the exact value of a number or a quantity. It returns false for all other values.
func (s Value) Number() (Decimal, bool) {
	if s.class != numeric {
		return Decimal{}, false
	}
	return s.decimal(), true
}

// IsNull reports whether the value is null, or missing.
func (s Value) IsNull() bool { return s.class == absent }

// EncodedBytes estimates the bytes of the value in a message.
func (s Value) EncodedBytes() int { return encodedBytes + len(s.text) }

// encodedBytes is the size of a number in a message.
const encodedBytes = 11

// MaxComparedBytes bounds the strings that ListRequest.order_by, MIN and MAX compare.
const MaxComparedBytes = 1 << 10

// Compared returns the value without the bytes of a string that are not compared: a longer string is cut
// after the last character that ends within its first MaxComparedBytes. It retains only the bytes that it returns.
func (s Value) Compared() Value {
	if len(s.text) <= MaxComparedBytes {
		return s
	}
	end := MaxComparedBytes
	for !utf8.RuneStart(s.text[end]) {
		end--
	}
	s.text = strings.Clone(s.text[:end])
	return s
}

// Bytes estimates the memory of the value.
func (s Value) Bytes() int {
	return ValueBytes + TextBytes(s.text) + s.exact.Bytes()
}

// TextBytes estimates the memory of a string, which is rounded up when it is allocated.
func TextBytes(text string) int { return len(text) + min(len(text)/4, 8<<10) }

// ValueBytes is the memory of a Value.
const ValueBytes = 40

// CompareIdentity distinguishes values that Compare treats as equal: a number and a string with
// the same quantity, and different strings with the same quantity. It does not distinguish numbers
// that are equal when they are sent.
func (s Value) CompareIdentity(other Value) int {
	return cmp.Or(cmp.Compare(s.class, other.class), cmp.Compare(s.value, other.value), cmp.Compare(s.text, other.text))
}

// AppendKey appends a key to dst. Values have the same key if they are equal by CompareIdentity.
func (s Value) AppendKey(dst []byte) []byte {
	dst = append(dst, byte(s.class))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(s.value))
	dst = binary.AppendUvarint(dst, uint64(len(s.text)))
	return append(dst, s.text...)
}

// Encode returns the value as a message.
func (s Value) Encode() *structpb.Value {
	switch {
	case s.class == absent:
		return structpb.NewNullValue()
	case s.class == isFalse, s.class == isTrue:
		return structpb.NewBoolValue(s.class == isTrue)
	case s.class == textual, s.text != "":
		return structpb.NewStringValue(s.text)
	}
	return structpb.NewNumberValue(s.value)
}
