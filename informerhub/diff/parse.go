package diff

import (
	"math"
	"strconv"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

// parsed is a text, read once: each member of its objects stands before those within it,
// and, where lists matter, each element of its lists.
type parsed struct {
	text    []byte
	lists   bool
	at      int // how far text has been read
	members []member
}

// member is a member of an object, or an element of a list, and where in the text it is.
type member struct {
	name              string // empty until it is compared, and for an element
	quoted, quotedEnd int    // its name
	value, end        int
	first             byte // that its value begins with
	within            span // its own members, and theirs
}

func (m *member) isObject() bool { return m.first == '{' }

func (m *member) isList() bool { return m.first == '[' }

// span is where in parsed members are.
type span struct{ first, end int }

const (
	// maxDepth is how deep objects and lists may lie in each other: each level is
	// compared anew.
	maxDepth = 100
	// maxMembers bounds the members of a text, for each takes as much memory as many bytes.
	maxMembers = 1 << 16
	// surelyFinite is up to how many digits a number without an exponent is a float64.
	surelyFinite = 300
)

// parse reads a text, which must be an object.
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

// hasNull reports whether a merge patch would take something in a value for a deletion.
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

// nameOf is how a member's name is written, with its quotes.
func (p *parsed) nameOf(m *member) []byte { return p.text[m.quoted:m.quotedEnd] }

// valueOf is how a member's value is written.
func (p *parsed) valueOf(m *member) []byte { return p.text[m.value:m.end] }

// skipValue reads a value. Like all below, it answers whether there is one.
func (p *parsed) skipValue(depth int) bool {
	switch {
	case p.at == len(p.text) || depth == maxDepth:
		return false
	case p.text[p.at] == '{':
		return p.items('}', func() bool { return p.member(depth + 1) })
	case p.text[p.at] == '[' && p.lists:
		return p.items(']', func() bool { return p.keep(member{}, depth+1) })
	case p.text[p.at] == '[':
		defer func(kept int) { p.members = p.members[:kept] }(len(p.members))
		return p.items(']', func() bool { return p.skipValue(depth + 1) })
	case p.text[p.at] == '"':
		return p.skipString()
	}
	return p.skipWord()
}

// items reads what an object or a list has, up to its end.
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
	return p.keep(m, depth)
}

// keep reads the value of a member, and keeps that.
func (p *parsed) keep(m member, depth int) bool {
	place := len(p.members)
	if place == maxMembers || p.at == len(p.text) {
		return false
	}
	m.value, m.first = p.at, p.text[p.at]
	p.members = append(p.members, m)
	if !p.skipValue(depth) {
		return false
	}
	p.members[place].end = p.at
	p.members[place].within = span{place + 1, len(p.members)}
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
	case exponent || len(word) > surelyFinite:
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
