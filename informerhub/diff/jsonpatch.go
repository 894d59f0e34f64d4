package diff

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSONPatch appends the JSON patch between two JSON objects to dst: applied to before, it gives the
// equal of after. Its operations are add, remove and replace, and never replace the whole object.
// Elements of a list that are equal and in the same order are kept. An element that replaces
// another one is compared with it. It returns false if there is no patch: see the package.
func JSONPatch(dst, before, after []byte) (patch []byte, ok bool) {
	d, ok := newDiffer(dst, before, after, true)
	defer d.release()
	if !ok {
		return dst, false
	}
	d.out = append(d.out, '[')
	ok = d.changeMembers(d.before.all(), d.after.all())
	d.out = append(d.out, ']')
	if !ok || len(d.out) > d.limit {
		return dst, false
	}
	return d.out, true
}

// change writes the change of the value at path: operations within it, or one that replaces it, if
// these would be longer or cannot be expressed.
func (d *differ) change(old, now *member) bool {
	within := d.changeMembers
	switch {
	case old.first != now.first || !now.isObject() && !now.isList():
		return d.operation("replace", now)
	case now.isList():
		within = d.changeElements
	}
	start, limit := len(d.out), d.limit
	d.limit = min(limit, start+d.sizeOf("replace", now))
	ok := within(old.within, now.within)
	d.limit = limit
	if !ok {
		d.out = d.out[:start]
		return d.operation("replace", now)
	}
	return true
}

func (d *differ) changeMembers(before, after span) bool {
	path := len(d.path)
	defer func() { d.path = d.path[:path] }()
	return d.eachMember(before, after, func(old, now *member) bool {
		d.path = d.path[:path]
		switch {
		case now == nil:
			return d.stepTo(&d.before, old) && d.operation("remove", nil)
		case old != nil && d.same(old, now):
			return true
		case !d.stepTo(&d.after, now):
			return false
		case old == nil:
			return d.operation("add", now)
		}
		return d.change(old, now)
	})
}

func (d *differ) changeElements(before, after span) bool {
	path, indexCount, planned := len(d.path), len(d.indexes), len(d.steps)
	defer func() { d.path, d.indexes, d.steps = d.path[:path], d.indexes[:indexCount], d.steps[:planned] }()
	olds, news := d.indexesOf(&d.before, before), d.indexesOf(&d.after, after)
	at := 0 // index in the list after the operations so far
	for _, step := range d.align(olds, news) {
		ok := true
		if step != keep {
			d.path = strconv.AppendInt(append(d.path[:path], '/'), int64(at), 10)
		}
		switch step {
		case change:
			ok = d.change(&d.before.members[olds[0]], &d.after.members[news[0]])
		case remove:
			ok = d.operation("remove", nil)
		case add:
			ok = d.operation("add", &d.after.members[news[0]])
		}
		if !ok {
			return false
		}
		if step != add {
			olds = olds[1:]
		}
		if step != remove {
			news = news[1:]
			at++
		}
	}
	return true
}

// operation writes an operation on the value at path; now is nil for a removal.
func (d *differ) operation(op string, now *member) bool {
	if len(d.out)+d.sizeOf(op, now) > d.limit {
		return false
	}
	if d.out[len(d.out)-1] != '[' {
		d.out = append(d.out, ',')
	}
	d.out = append(append(d.out, `{"op":"`...), op...)
	d.out = append(append(d.out, `","path":"`...), d.path...)
	d.out = append(d.out, '"')
	if now != nil {
		d.out = append(append(d.out, `,"value":`...), d.after.valueOf(now)...)
	}
	d.out = append(d.out, '}')
	return true
}

// sizeOf returns the maximum size of an operation in bytes.
func (d *differ) sizeOf(op string, now *member) int {
	size := len(`,{"op":"","path":""}`) + len(op) + len(d.path)
	if now != nil {
		size += len(`,"value":`) + now.end - now.value
	}
	return size
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// stepTo extends path to a member; false if a pointer cannot express its name.
func (d *differ) stepTo(document *parsed, m *member) bool {
	d.path = append(d.path, '/')
	quoted := document.nameOf(m)
	if inner := quoted[1 : len(quoted)-1]; !bytes.ContainsAny(inner, `~/\`) {
		d.path = append(d.path, inner...)
		return true
	}
	if m.name == "" || strings.ContainsRune(m.name, utf8.RuneError) {
		return false // it cannot be read, or readers decode it differently
	}
	escaped, _ := json.Marshal(pointerEscapes.Replace(m.name)) // a string always has JSON
	d.path = append(d.path, escaped[1:len(escaped)-1]...)
	return true
}
