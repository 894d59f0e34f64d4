package server

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/fvbommel/sortorder"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/resource"
)

// scalar is a JSON value that is neither an object nor a list.
type scalar struct {
	class class
	text  string   // of a text, also of one that says a quantity
	value float64  // of a number or a quantity, rounded
	exact *big.Rat // the same where it was rounded
}

// class is what kind of value a scalar is; they come in this order.
type class uint8

const (
	absent class = iota // null, or nothing
	isFalse
	isTrue
	numeric // numbers, and texts that say quantities
	textual
)

// scalarOf reads a JSON value; false if it is an object or a list.
func scalarOf(value []byte) (scalar, bool) {
	switch value[0] {
	case '{', '[':
		return scalar{}, false
	case 'n':
		return scalar{}, true
	case 'f':
		return scalar{class: isFalse}, true
	case 't':
		return scalar{class: isTrue}, true
	case '"':
		var text string
		_ = json.Unmarshal(value, &text) // what is no text is an empty one
		return textScalar(text), true
	}
	return numberScalar(string(value)), true
}

// numberScalar is a JSON number. One that nobody can compute with is taken for a text.
func numberScalar(text string) scalar {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !hasSmallExponent(text) {
		return scalar{class: textual, text: text}
	}
	s := scalar{class: numeric, value: withoutSign(value)}
	if !isShortInteger(text) {
		s.exact, _ = new(big.Rat).SetString(text)
	}
	return s
}

// withoutSign takes the sign off -0.
func withoutSign(value float64) float64 {
	if value == 0 {
		return 0
	}
	return value
}

// textScalar is a text, which says a quantity or does not.
func textScalar(text string) scalar {
	s := scalar{class: textual, text: text}
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
	s.exact = ratOf(quantity)
	s.value, _ = s.exact.Float64()
	return s
}

func ratOf(quantity resource.Quantity) *big.Rat {
	decimal := quantity.AsDec()
	value := new(big.Rat).SetInt(decimal.UnscaledBig())
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(decimal.Scale(), -decimal.Scale()))), nil))
	if decimal.Scale() > 0 {
		return value.Quo(value, power)
	}
	return value.Mul(value, power)
}

const (
	// maxQuantityLength and maxExponentDigits bound what is taken for a number: computing
	// with those beyond takes time without end.
	maxQuantityLength = 64
	maxExponentDigits = 3
)

// mayBeQuantity reports whether it is worth the trouble to read a text as a quantity.
func mayBeQuantity(text string) bool {
	return text != "" && len(text) <= maxQuantityLength && strings.IndexByte("0123456789+-.", text[0]) >= 0 && hasSmallExponent(text)
}

// hasSmallExponent reports whether a number is one to compute with.
func hasSmallExponent(text string) bool {
	at := strings.IndexAny(text, "eE")
	return len(text) <= maxQuantityLength && (at < 0 || len(strings.TrimLeft(text[at+1:], "+-0")) <= maxExponentDigits)
}

// isShortInteger reports whether a number is a whole one that a float64 has exactly.
func isShortInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return len(digits) <= 15 && strings.Trim(digits, "0123456789") == ""
}

// compare orders scalars: see ListRequest.order_by. Texts come in kubectl's order: "web-2"
// before "web-10".
func (s scalar) compare(other scalar) int {
	switch {
	case s.class != other.class:
		return cmp.Compare(s.class, other.class)
	case s.class == numeric:
		return s.compareValues(other)
	case s.class == textual:
		return sortorder.NaturalCompare(s.text, other.text)
	}
	return 0
}

// compareValues compares numbers. Rounding keeps the order, so it matters only where it
// makes them equal.
func (s scalar) compareValues(other scalar) int {
	order := cmp.Compare(s.value, other.value)
	if order == 0 && (s.exact != nil || other.exact != nil) {
		return s.rat().Cmp(other.rat())
	}
	return order
}

func (s scalar) rat() *big.Rat {
	if s.exact != nil {
		return s.exact
	}
	return new(big.Rat).SetFloat64(s.value)
}

// compareIdentity tells apart what compare does not: a number and a text that says it, and
// texts that say the same; but not numbers that are the same when they are sent.
func (s scalar) compareIdentity(other scalar) int {
	return cmp.Or(cmp.Compare(s.class, other.class), cmp.Compare(s.value, other.value), cmp.Compare(s.text, other.text))
}

// appendKey appends to dst what is the same for scalars that are the same by
// compareIdentity.
func (s scalar) appendKey(dst []byte) []byte {
	dst = append(dst, byte(s.class))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(s.value))
	return appendText(dst, s.text)
}

// encode is the scalar as it is sent.
func (s scalar) encode() *structpb.Value {
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
