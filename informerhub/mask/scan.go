package mask

import (
	"bytes"
	"encoding/json"
	"unsafe"
)

// The functions that look for an end answer none, a negative place, where the text is not
// JSON. They check it no further than finding that end takes.
const none = -1

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString is the place behind the string that begins at i.
func skipString(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return none
	}
	for i++; i < len(text); {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return none
		}
		escape := bytes.IndexByte(text[i:i+quote], '\\')
		if escape < 0 {
			return i + quote + 1
		}
		i += escape + 2
	}
	return none
}

// skipValue is the place behind the value that begins at i.
func skipValue(text []byte, i int) int {
	if i >= len(text) {
		return none
	}
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	}
	return skipWord(text, i)
}

// skipWord is the place behind a number, a boolean or null.
func skipWord(text []byte, i int) int {
	start := i
	for i < len(text) && isInWord(text[i]) {
		i++
	}
	if i == start {
		return none
	}
	return i
}

func isInWord(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || b == '-' || b == '+' || b == '.' || b == 'E'
}

// skipNested is the place behind an object or a list.
func skipNested(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			if i = skipString(text, i); i < 0 {
				return none
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return none
}

// nextMember finds the member at i, where an object's brace or a comma stands before it:
// where its key begins and ends and its value begins. All are the object's end if there is
// none. A comma must be there where another member was before.
func nextMember(text []byte, i int, first bool) (key, keyEnd, value int) {
	i = skipSpace(text, i)
	if i < len(text) && text[i] == '}' {
		return i + 1, i + 1, i + 1
	}
	if !first {
		if i >= len(text) || text[i] != ',' {
			return none, none, none
		}
		i = skipSpace(text, i+1)
	}
	end := skipString(text, i)
	if end < 0 {
		return none, none, none
	}
	colon := skipSpace(text, end)
	if colon >= len(text) || text[colon] != ':' {
		return none, none, none
	}
	return i, end, skipSpace(text, colon+1)
}

// nextElement finds the element at i likewise; atEnd if there is none, and i is behind the
// list.
func nextElement(text []byte, i int, first bool) (element int, atEnd bool) {
	i = skipSpace(text, i)
	if i < len(text) && text[i] == ']' {
		return i + 1, true
	}
	if !first {
		if i >= len(text) || text[i] != ',' {
			return none, true
		}
		i = skipSpace(text, i+1)
	}
	return i, false
}

// unquote is the text of a string. It shares the memory of quoted where nothing in it is
// escaped.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return unsafe.String(unsafe.SliceData(inner), len(inner))
	}
	var text string
	_ = json.Unmarshal(quoted, &text)
	return text
}
