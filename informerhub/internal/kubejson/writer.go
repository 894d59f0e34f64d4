package kubejson

import (
	"slices"
	"sync"
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
