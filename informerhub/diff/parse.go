package diff

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

// parsed is a parsed text: each member of its objects precedes the members within it and, if lists
// are parsed, so does each element of its lists.
type parsed struct {
	text    []byte
	lists   bool
	at      int // number of bytes read
	members []member
}

// member is a member of an object or an element of a list, with its position in the text.
type member struct {
	name              string // empty until it is compared, and for an element
	quoted, quotedEnd int    // position of its name
	value, end        int
	first             byte // first byte of its value
	within            span // members within its value, at any depth
}

func (m *member) isObject() bool { return m.first == '{' }

func (m *member) isList() bool { return m.first == '[' }

// span is a range of members in parsed.
type span struct{ first, end int }

const (
	// maxDepth bounds the nesting of objects and lists: each level is compared again.
	maxDepth = 100
	// maxMembers bounds the members of a text, because each takes memory for many bytes.
	maxMembers = 1 << 16
	// maxFiniteDigits is the number of digits up to which a number without an exponent is a float64.
	maxFiniteDigits = 300
)

// parse parses a text, which must be an object.
func (p *parsed) parse(text []byte) bool {
	p.text, p.at, p.members = text, 0, p.members[:0]
	p.skipSpace()
	if p.at == len(text) || text[p.at] != '{' || !p.skipValue(0) {
		return false
	}
	p.skipSpace()
	return p.at == len(text)
}

func (p *parsed) all() span { return span{0, len(p.members)} }

// hasNull reports whether a merge patch would interpret a part of the value as a deletion.
func (p *parsed) hasNull(m *member) bool {
	if p.isNull(m) {
		return true
	}
	for i := m.within.first; i < m.within.end; i++ {
		if p.isNull(&p.members[i]) {
			return true
		}
	}
	return false
}

func (p *parsed) isNull(m *member) bool { return string(p.valueOf(m)) == "null" }

// nameOf returns a member's name as written, with its quotes.
func (p *parsed) nameOf(m *member) []byte { return p.text[m.quoted:m.quotedEnd] }

// valueOf returns a member's value as written.
func (p *parsed) valueOf(m *member) []byte { return p.text[m.value:m.end] }

// skipValue reads a value. Like the functions below, it reports whether there is one.
func (p *parsed) skipValue(depth int) bool {
	switch {
	case p.at == len(p.text) || depth == maxDepth:
		return false
	case p.text[p.at] == '{':
		return p.items('}', func() bool { return p.member(depth + 1) })
	case p.text[p.at] == '[' && p.lists:
		return p.items(']', func() bool { return p.record(member{}, depth+1) })
	case p.text[p.at] == '[':
		defer func(kept int) { p.members = p.members[:kept] }(len(p.members))
		return p.items(']', func() bool { return p.skipValue(depth + 1) })
	case p.text[p.at] == '"':
		return p.skipString()
	}
	return p.skipWord()
}

// items reads the items of an object or a list, up to its end.
func (p *parsed) items(end byte, item func() bool) bool {
	p.at++
	for first := true; ; first = false {
		p.skipSpace()
		if p.take(end) {
			return true
		}
		if !first && !p.take(',') {
			return false
		}
		p.skipSpace()
		if !item() {
			return false
		}
	}
}

func (p *parsed) member(depth int) bool {
	m := member{quoted: p.at}
	if !p.skipString() {
		return false
	}
	m.quotedEnd = p.at
	p.skipSpace()
	if !p.take(':') {
		return false
	}
	p.skipSpace()
	return p.record(m, depth)
}

// record reads the value of a member, and stores the member.
func (p *parsed) record(m member, depth int) bool {
	index := len(p.members)
	if index == maxMembers || p.at == len(p.text) {
		return false
	}
	m.value, m.first = p.at, p.text[p.at]
	p.members = append(p.members, m)
	if !p.skipValue(depth) {
		return false
	}
	p.members[index].end = p.at
	p.members[index].within = span{index + 1, len(p.members)}
	return true
}

func (p *parsed) skipString() bool {
	end := jsonscan.SkipString(p.text, p.at)
	p.at = max(p.at, end)
	return end != jsonscan.None
}

// skipWord reads a number, a boolean or null.
func (p *parsed) skipWord() bool {
	start, exponent := p.at, false
	for p.at < len(p.text) && jsonscan.IsInWord(p.text[p.at]) {
		exponent = exponent || p.text[p.at] == 'e' || p.text[p.at] == 'E'
		p.at++
	}
	switch word := p.text[start:p.at]; {
	case len(word) == 0:
		return false
	case 'a' <= word[0] && word[0] <= 'z':
		return string(word) == "null" || string(word) == "true" || string(word) == "false"
	case exponent || len(word) > maxFiniteDigits:
		number, err := strconv.ParseFloat(string(word), 64)
		return err == nil && !math.IsInf(number, 0)
	}
	return true
}

func (p *parsed) skipSpace() { p.at = jsonscan.SkipSpace(p.text, p.at) }

// take reads a character, if it is the next one.
func (p *parsed) take(character byte) bool {
	if p.at == len(p.text) || p.text[p.at] != character {
		return false
	}
	p.at++
	return true
}

// elementAt returns the text of an element. It shares memory with the parsed text.
func (p *parsed) elementAt(index int) string {
	written := p.valueOf(&p.members[index])
	return unsafe.String(unsafe.SliceData(written), len(written))
}
