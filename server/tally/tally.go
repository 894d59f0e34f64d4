package tally

import (
	"github.com/tidwall/btree"

	"github.com/kubeconnect/kubeconnect/server/scalar"
)

// Tally has the aggregates of objects that are added and removed.
//
//	objects      {500m, 1}   {2}   {500m}
//	summary      the sum, the number of values, the minimum and the maximum
//	ends         500m: 2 times, 1: once, 2: 2 times (the minimum and the maximum of each object)
//
// When the object with the minimum is removed, the minimum of ends is the next one.
type Tally struct {
	summary Summary
	keeps   Function                   // which of Min and Max are needed; set once
	ends    *btree.BTreeG[*occurrence] // nil if no objects can be removed, or without Min and Max
	bytes   int                        // estimated memory of ends
}

// occurrence is a value, and the number of times that it is the minimum or the maximum value of an
// object.
type occurrence struct {
	value scalar.Value
	count int
}

// New returns a tally for a set of functions. Objects can only be added to it, which needs less
// memory.
func New(functions Function) Tally { return Tally{keeps: functions & (Min | Max)} }

// NewLive returns a tally for a set of functions. Objects can be removed from it.
func NewLive(functions Function) Tally {
	t := New(functions)
	if t.keeps != 0 {
		t.ends = btree.NewBTreeGOptions(func(a, b *occurrence) bool { return compare(a.value, b.value) < 0 },
			btree.Options{NoLocks: true, Degree: endsDegree})
	}
	return t
}

// endsDegree is the degree of the trees. Most groups have few different values.
const endsDegree = 8

// Summary returns the aggregates of the objects.
func (t *Tally) Summary() Summary { return t.summary }

// Add adds an object.
func (t *Tally) Add(object Summary) {
	t.summary.addNumbers(object, object.sum, 1)
	if t.keeps != 0 {
		t.summary.widen(object)
	}
	t.eachEnd(object, t.keep)
}

// Remove removes an object that was added before. The tally must be a live one.
func (t *Tally) Remove(object Summary) {
	t.summary.addNumbers(object, object.sum.Negated(), -1)
	t.eachEnd(object, t.drop)
	if t.ends != nil {
		t.summary.min, t.summary.max = valueOf(t.ends.Min()), valueOf(t.ends.Max())
	}
}

// eachEnd calls visit with the values of an object that ends contains.
func (t *Tally) eachEnd(object Summary, visit func(scalar.Value)) {
	if t.ends == nil || object.min.IsNull() {
		return
	}
	if t.keeps&Min != 0 {
		visit(object.min)
	}
	if t.keeps&Max != 0 {
		visit(object.max)
	}
}

func (t *Tally) keep(value scalar.Value) {
	added := &occurrence{value, 1}
	if known, ok := t.ends.Get(added); ok {
		known.count++
		return
	}
	t.ends.Set(added)
	t.bytes += occurrenceBytes + value.Bytes()
}

func (t *Tally) drop(value scalar.Value) {
	known, ok := t.ends.Get(&occurrence{value: value})
	if !ok {
		return
	}
	if known.count--; known.count == 0 {
		t.ends.Delete(known)
		t.bytes -= occurrenceBytes + known.value.Bytes()
	}
}

// valueOf returns the value of an occurrence; null if there is none.
func valueOf(found *occurrence, ok bool) scalar.Value {
	if !ok {
		return scalar.Value{}
	}
	return found.value
}

// Bytes estimates the memory of the tally.
func (t *Tally) Bytes() int {
	return tallyBytes + t.bytes + t.summary.sum.Bytes() + t.summary.min.Bytes() + t.summary.max.Bytes()
}

// tallyBytes and occurrenceBytes estimate the memory of a Tally, and that of an occurrence without
// its value.
const tallyBytes, occurrenceBytes = 176, 48
