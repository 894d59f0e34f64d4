// Package jsonscan walks JSON as bytes, from one place in a text to another, without
// decoding what it passes.
//
// It is for texts that have been read as JSON before, or will be: of what is between two
// places it checks no more than finding the second one takes. It takes time in proportion
// to what it passes, whatever the text, and never fails but by answering None.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"unsafe"
)

// None is the place that is answered where the text is no JSON.
const None = -1

// SkipSpace is the place of what is not space, from i on.
func SkipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// SkipString is the place behind the string that begins at i. A quote ends it that is
// behind an even number of backslashes.
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

// SkipValue is the place behind the value that begins at i.
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

// skipWord is the place behind a number, a boolean or null.
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

// IsInWord reports whether a number, a boolean or null may have a character.
func IsInWord(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || b == '-' || b == '+' || b == '.' || b == 'E'
}

// skipNested is the place behind an object or a list.
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

// NextMember finds the member at i, where an object's brace or a comma stands before it:
// where its key begins and ends and its value begins. All are the object's end if there is
// None. A comma must be there where another member was before.
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

// NextElement finds the element at i likewise; atEnd if there is None, and i is behind the
// list.
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

// Unquote is the text of a quoted string. It shares the memory of quoted where nothing in it is
// escaped.
func Unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return unsafe.String(unsafe.SliceData(inner), len(inner))
	}
	var text string
	_ = json.Unmarshal(quoted, &text)
	return text
}
