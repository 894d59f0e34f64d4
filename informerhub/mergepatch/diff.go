package mergepatch

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Diff appends to dst the merge patch that makes of one JSON object another: applied to
// before, it gives what equals after. Its members are in the order of their names. False,
// and dst as it was, if a merge patch cannot say it, as where a member becomes null; if it
// would have more than half of the bytes of after; or if one of the texts is no object,
// has a name twice, a number beyond a float64, more than 100 objects and lists in each
// other, or more than 65,536 members.
//
// The texts must be valid JSON; what is not, is either refused or differs from it in no
// more than what it is itself. They are only read, in time that grows with their length.
func Diff(dst, before, after []byte) (patch []byte, ok bool) {
	d := differs.Get().(*differ)
	defer d.release()
	d.out, d.limit = dst, len(dst)+len(after)/2
	if !d.before.parse(before) || !d.after.parse(after) || !d.objects(d.before.all(), d.after.all()) {
		return dst, false
	}
	return d.out, true
}

// differ compares two texts. Its methods answer whether they could.
type differ struct {
	before, after parsed
	out           []byte
	limit         int // how long out may become
	places        []int
}

var differs = sync.Pool{New: func() any { return new(differ) }}

// maxKept is how many members a differ keeps room for.
const maxKept = 1 << 12

func (d *differ) release() {
	d.before.text, d.after.text, d.out = nil, nil, nil
	clear(d.before.members) // let go of the texts
	clear(d.after.members)
	if cap(d.before.members) <= maxKept && cap(d.after.members) <= maxKept {
		differs.Put(d)
	}
}

// objects writes what makes of the object with some members the one with others.
func (d *differ) objects(before, after span) bool {
	kept := len(d.places)
	defer func() { d.places = d.places[:kept] }()
	olds, ok := d.inOrder(&d.before, before)
	if !ok {
		return false
	}
	news, ok := d.inOrder(&d.after, after)
	if !ok {
		return false
	}
	start := len(d.out)
	d.out = append(d.out, '{')
	for len(olds) > 0 || len(news) > 0 {
		var old, now *member
		order := d.compareFirst(olds, news)
		if order <= 0 {
			old, olds = &d.before.members[olds[0]], olds[1:]
		}
		if order >= 0 {
			now, news = &d.after.members[news[0]], news[1:]
		}
		if !d.member(old, now, start) {
			return false
		}
	}
	d.out = append(d.out, '}')
	return len(d.out) <= d.limit
}

// inOrder are the places of an object's own members, in the order of their names; false
// if there is one name twice.
func (d *differ) inOrder(in *parsed, of span) (places []int, ok bool) {
	start := len(d.places)
	for i := of.first; i < of.end; i = in.members[i].within.end {
		d.places = append(d.places, i)
	}
	places = d.places[start:len(d.places):len(d.places)]
	slices.SortFunc(places, func(a, b int) int { return strings.Compare(in.members[a].name, in.members[b].name) })
	for i := 1; i < len(places); i++ {
		if in.members[places[i-1]].name == in.members[places[i]].name {
			return nil, false
		}
	}
	return places, true
}

// compareFirst compares the names of the first of two ordered slices, an empty one coming
// last.
func (d *differ) compareFirst(olds, news []int) int {
	switch {
	case len(olds) == 0:
		return 1
	case len(news) == 0:
		return -1
	}
	return strings.Compare(d.before.members[olds[0]].name, d.after.members[news[0]].name)
}

// member writes what becomes of a member: nil is one that is not there. The object that
// it is in begins at a place of out.
func (d *differ) member(old, now *member, object int) bool {
	switch {
	case now == nil:
		d.name(d.before.text[old.quoted:old.quotedEnd], object)
		d.out = append(d.out, "null"...)
		return true
	case old == nil || !old.isObject || !now.isObject:
		return d.whole(old, now, object)
	case bytes.Equal(d.before.text[old.value:old.end], d.after.text[now.value:now.end]):
		return true
	}
	start := len(d.out)
	d.name(d.after.text[now.quoted:now.quotedEnd], object)
	content := len(d.out)
	if !d.objects(old.within, now.within) {
		return false
	}
	if len(d.out) == content+len("{}") {
		d.out = d.out[:start] // they are the same, and only written otherwise
	}
	return true
}

// whole writes a member as it is now, unless it has not changed.
func (d *differ) whole(old, now *member, object int) bool {
	value := d.after.text[now.value:now.end]
	if old != nil && bytes.Equal(d.before.text[old.value:old.end], value) {
		return true
	}
	if d.after.hasNull(now) || len(d.out)+len(value) > d.limit {
		return false
	}
	d.name(d.after.text[now.quoted:now.quotedEnd], object)
	d.out = append(d.out, value...)
	return true
}

// name writes the name of a member, with what stands before and behind it.
func (d *differ) name(quoted []byte, object int) {
	if len(d.out) > object+len("{") {
		d.out = append(d.out, ',')
	}
	d.out = append(append(d.out, quoted...), ':')
}
