package kubejson

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

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
