package kubejson

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// The tags of intstr.IntOrString.
const (
	typeTag   = 1<<3 | wireVarint
	intValTag = 2<<3 | wireVarint
	strValTag = 3<<3 | wireBytes
)

// intOrString writes an intstr.IntOrString: the one of its two values that its type
// names.
func (w *writer) intOrString(content []byte) bool {
	kind, rest, _ := cutVarint(content, typeTag)
	number, rest, _ := cutVarint(rest, intValTag)
	text, rest, _ := cutDelimited(rest, strValTag)
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
