package diff

import (
	"slices"
	"strings"
	"sync"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

// differ compares two texts. Its methods report whether they succeeded.
type differ struct {
	before, after parsed
	out           []byte
	limit         int // maximum length of out
	indexes       []int
	path          []byte // to the compared value, as a JSON pointer within a JSON string

	// For lists: the steps, and the remaining number of each element in both lists.
	steps      []step
	olds, news map[string]int
}

var differs = sync.Pool{New: func() any {
	return &differ{olds: make(map[string]int), news: make(map[string]int)}
}}

// maxKept bounds the members for which a released differ keeps memory.
const maxKept = 1 << 12

// newDiffer parses two texts, with the elements of lists or without, to append their patch to dst.
func newDiffer(dst, before, after []byte, lists bool) (d *differ, ok bool) {
	d = differs.Get().(*differ)
	d.before.lists, d.after.lists = lists, lists
	d.out, d.limit, d.path = dst, len(dst)+len(after)/2, d.path[:0]
	return d, d.before.parse(before) && d.after.parse(after)
}

func (d *differ) release() {
	d.before.text, d.after.text, d.out = nil, nil, nil
	clear(d.before.members) // release the texts
	clear(d.after.members)
	clear(d.olds)
	clear(d.news)
	if cap(d.before.members) <= maxKept && cap(d.after.members) <= maxKept {
		differs.Put(d)
	}
}

// eachMember calls do for each member of one of two objects, or of both, in the order of their
// names. A missing member is nil. It returns false if a name occurs twice, or as soon as do returns
// false.
func (d *differ) eachMember(before, after span, do func(old, now *member) bool) bool {
	indexCount := len(d.indexes)
	defer func() { d.indexes = d.indexes[:indexCount] }()
	olds, ok := d.inOrder(&d.before, before)
	if !ok {
		return false
	}
	news, ok := d.inOrder(&d.after, after)
	if !ok {
		return false
	}
	for len(olds) > 0 || len(news) > 0 {
		var old, now *member
		order := d.compareFirst(olds, news)
		if order <= 0 {
			old, olds = &d.before.members[olds[0]], olds[1:]
		}
		if order >= 0 {
			now, news = &d.after.members[news[0]], news[1:]
		}
		if !do(old, now) {
			return false
		}
	}
	return true
}

// inOrder returns the indexes of an object's own members, in the order of their names; false if a
// name occurs twice.
func (d *differ) inOrder(document *parsed, members span) (indexes []int, ok bool) {
	indexes = d.indexesOf(document, members)
	for _, index := range indexes {
		m := &document.members[index]
		m.name = jsonscan.Unquote(document.nameOf(m))
	}
	slices.SortFunc(indexes, func(a, b int) int { return strings.Compare(document.members[a].name, document.members[b].name) })
	for i := 1; i < len(indexes); i++ {
		if document.members[indexes[i-1]].name == document.members[indexes[i]].name {
			return nil, false
		}
	}
	return indexes, true
}

// indexesOf returns the indexes of an object's own members, or of a list's own elements.
func (d *differ) indexesOf(document *parsed, members span) []int {
	start := len(d.indexes)
	for i := members.first; i < members.end; i = document.members[i].within.end {
		d.indexes = append(d.indexes, i)
	}
	return d.indexes[start:len(d.indexes):len(d.indexes)]
}

// compareFirst compares the first names of two ordered slices. An empty slice sorts last.
func (d *differ) compareFirst(olds, news []int) int {
	switch {
	case len(olds) == 0:
		return 1
	case len(news) == 0:
		return -1
	}
	return strings.Compare(d.before.members[olds[0]].name, d.after.members[news[0]].name)
}

// same reports whether a value has the same bytes in both texts.
func (d *differ) same(old, now *member) bool {
	return string(d.before.valueOf(old)) == string(d.after.valueOf(now))
}

// step is the change of an element of a list.
type step byte

const (
	keep   step = iota
	change      // to the element that replaces it
	remove
	add
)

// align returns the steps from one list to another, in the order of both. Elements of both lists
// are kept if their order allows it, but not always as many as possible. Its time is linear in the
// length of the lists.
func (d *differ) align(olds, news []int) []step {
	start := len(d.steps)
	for len(olds) > 0 && len(news) > 0 && d.sameElement(olds[0], news[0]) {
		d.steps, olds, news = append(d.steps, keep), olds[1:], news[1:]
	}
	end := 0
	for min(len(olds), len(news)) > end && d.sameElement(olds[len(olds)-1-end], news[len(news)-1-end]) {
		end++
	}
	d.alignOthers(olds[:len(olds)-end], news[:len(news)-end])
	for range end {
		d.steps = append(d.steps, keep)
	}
	return d.steps[start:]
}

func (d *differ) sameElement(old, now int) bool {
	return d.same(&d.before.members[old], &d.after.members[now])
}

// alignOthers adds the steps of the elements between the common beginning and the common end.
func (d *differ) alignOthers(olds, news []int) {
	if len(olds) > 0 && len(news) > 0 {
		d.count(olds, news)
	}
	for len(olds) > 0 && len(news) > 0 {
		next := d.nextStep(olds[0], news[0])
		d.steps = append(d.steps, next)
		if next != add {
			d.olds[d.before.elementAt(olds[0])]--
			olds = olds[1:]
		}
		if next != remove {
			d.news[d.after.elementAt(news[0])]--
			news = news[1:]
		}
	}
	for range olds {
		d.steps = append(d.steps, remove)
	}
	for range news {
		d.steps = append(d.steps, add)
	}
}

// count counts the remaining elements.
func (d *differ) count(olds, news []int) {
	clear(d.olds)
	clear(d.news)
	for _, index := range olds {
		d.olds[d.before.elementAt(index)]++
	}
	for _, index := range news {
		d.news[d.after.elementAt(index)]++
	}
}

// nextStep returns the step for the next elements.
func (d *differ) nextStep(old, now int) step {
	remains := d.news[d.before.elementAt(old)] > 0
	wasThere := d.olds[d.after.elementAt(now)] > 0
	switch {
	case d.sameElement(old, now):
		return keep
	case !remains && !wasThere:
		return change
	case remains && !wasThere:
		return add
	}
	return remove
}
