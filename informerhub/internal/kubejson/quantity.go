package kubejson

import (
	"math"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

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
