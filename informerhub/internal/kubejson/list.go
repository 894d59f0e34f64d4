package kubejson

import (
	"bytes"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

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
