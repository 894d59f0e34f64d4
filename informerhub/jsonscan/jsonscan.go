// Package jsonscan walks JSON text as bytes, from one position to another, without decoding the
// bytes in between.
//
// It is for text that is parsed as JSON elsewhere: between two positions it checks only what is
// needed to find the second one. Its time is proportional to the number of bytes that it passes,
// for any text. Its functions never fail; they return None for malformed JSON.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"unsafe"
)

// None is the position that is returned for malformed JSON.
const None = -1

// SkipSpace returns the position of the first byte at or after i that is not white space.
func SkipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// SkipString returns the position after the string that begins at i. The string ends at the first
// quote that is preceded by an even number of backslashes.
func SkipString(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return None
	}
	for from := i + 1; ; {
		quote := bytes.IndexByte(text[from:], '"')
		if quote < 0 {
			return None
		}
		quote += from
		escapes := 0
		for quote-1-escapes >= from && text[quote-1-escapes] == '\\' {
			escapes++
		}
		if from = quote + 1; escapes%2 == 0 {
			return from
		}
	}
}

// SkipValue returns the position after the value that begins at i.
func SkipValue(text []byte, i int) int {
	if i >= len(text) {
		return None
	}
	switch text[i] {
	case '"':
		return SkipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	}
	return skipWord(text, i)
}

// skipWord returns the position after a number, a boolean or null.
func skipWord(text []byte, i int) int {
	start := i
	for i < len(text) && IsInWord(text[i]) {
		i++
	}
	if i == start {
		return None
	}
	return i
}

// IsInWord reports whether a number, a boolean or null can contain a character.
func IsInWord(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || b == '-' || b == '+' || b == '.' || b == 'E'
}

// skipNested returns the position after an object or a list.
func skipNested(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			if i = SkipString(text, i); i < 0 {
				return None
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
	return None
}

// NextMember finds the next member of an object, where i is after the object's brace or after a
// member. It returns the start and end of the key and the start of the value. At the object's end
// it returns the position after the object for all three. A comma is required before every member
// except the first.
func NextMember(text []byte, i int, first bool) (key, keyEnd, value int) {
	i = SkipSpace(text, i)
	if i < len(text) && text[i] == '}' {
		return i + 1, i + 1, i + 1
	}
	if !first {
		if i >= len(text) || text[i] != ',' {
			return None, None, None
		}
		i = SkipSpace(text, i+1)
	}
	end := SkipString(text, i)
	if end < 0 {
		return None, None, None
	}
	colon := SkipSpace(text, end)
	if colon >= len(text) || text[colon] != ':' {
		return None, None, None
	}
	return i, end, SkipSpace(text, colon+1)
}

// NextElement finds the next element of a list in the same way. At the list's end, atEnd is true
// and the position is after the list. For malformed JSON, atEnd is true and the position is None.
func NextElement(text []byte, i int, first bool) (element int, atEnd bool) {
	i = SkipSpace(text, i)
	if i < len(text) && text[i] == ']' {
		return i + 1, true
	}
	if !first {
		if i >= len(text) || text[i] != ',' {
			return None, true
		}
		i = SkipSpace(text, i+1)
	}
	return i, false
}

// Unquote returns the content of a quoted string. The result shares the memory of quoted if nothing
// is escaped.
func Unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return unsafe.String(unsafe.SliceData(inner), len(inner))
	}
	var text string
	_ = json.Unmarshal(quoted, &text)
	return text
}
