package mask

import (
	"errors"
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

// ErrMalformed is the error for malformed JSON. Not every mistake is detected.
var ErrMalformed = errors.New("malformed JSON")

// AppendJSON appends the masked JSON of an object to dst. Its time is proportional to the length of
// text. It does not change text. On an error it returns dst unchanged.
func (m *Mask) AppendJSON(dst, text []byte) ([]byte, error) {
	c := jsonCutter{text: text, out: dst, parents: m.parents}
	end, _ := c.value(m.root, jsonscan.SkipSpace(text, 0), true)
	if end < 0 || jsonscan.SkipSpace(text, end) != len(text) {
		return dst, ErrMalformed
	}
	return m.withHead(c.out, len(dst)), nil
}

// withHead inserts the head into the object that begins at a position of text.
func (m *Mask) withHead(text []byte, at int) []byte {
	if m.head == "" || len(text)-at < len("{}") || text[at] != '{' {
		return text
	}
	head := m.head
	if text[at+1] != '}' {
		head += ","
	}
	return slices.Replace(text, at, at+1, []byte(head)...)
}

// jsonCutter copies the masked parts of JSON. Its methods return the position after the text that
// they have read, and whether to keep what they have written.
type jsonCutter struct {
	text    []byte
	out     []byte
	parents bool
}

// value cuts the value at i. If must is set, a value is written in any case.
func (c *jsonCutter) value(n *node, i int, must bool) (end int, keep bool) {
	switch {
	case i < 0 || i >= len(c.text):
		return jsonscan.None, false
	case n.all:
	case c.text[i] == '{':
		return c.object(n, i)
	case c.text[i] == '[':
		return c.list(n.element(), i)
	case must && !c.parents:
		c.out = append(c.out, "null"...)
		return jsonscan.SkipValue(c.text, i), false
	}
	end = jsonscan.SkipValue(c.text, i)
	if end > 0 {
		c.out = append(c.out, c.text[i:end]...)
	}
	return end, n.all || c.parents
}

func (c *jsonCutter) object(n *node, i int) (end int, keep bool) {
	start := len(c.out)
	c.out = append(c.out, '{')
	i++
	for first := true; ; first = false {
		key, keyEnd, value := jsonscan.NextMember(c.text, i, first)
		switch {
		case value < 0:
			return jsonscan.None, false
		case key == value:
			c.out = append(c.out, '}')
			return key, c.parents || len(c.out) > start+len("{}")
		}
		if child := n.member(jsonscan.Unquote(c.text[key:keyEnd])); child != nil {
			i = c.member(child, key, value, len(c.out) == start+len("{"))
		} else {
			i = jsonscan.SkipValue(c.text, value)
		}
		if i < 0 {
			return jsonscan.None, false
		}
	}
}

// member cuts a member, and removes it again if nothing is kept of it.
func (c *jsonCutter) member(n *node, key, value int, first bool) (end int) {
	start := len(c.out)
	if !first {
		c.out = append(c.out, ',')
	}
	c.out = append(c.out, c.text[key:value]...)
	end, keep := c.value(n, value, false)
	if !keep {
		c.out = c.out[:start]
	}
	return end
}

func (c *jsonCutter) list(n *node, i int) (end int, keep bool) {
	c.out = append(c.out, '[')
	i++
	keep = c.parents
	for first := true; ; first = false {
		element, atEnd := jsonscan.NextElement(c.text, i, first)
		if atEnd {
			c.out = append(c.out, ']')
			return element, keep
		}
		if !first {
			c.out = append(c.out, ',')
		}
		end, found := c.value(n, element, true)
		if end < 0 {
			return jsonscan.None, false
		}
		keep = keep || found
		i = end
	}
}
