package kubejson

import (
	"encoding/binary"
	"unicode/utf8"
)

// appendString appends a string as json.Marshal writes it.
func appendString(dst, text []byte) []byte {
	dst = append(dst, '"')
	if isPlain(text) {
		dst = append(dst, text...)
	} else {
		dst = appendEscaped(dst, text)
	}
	return append(dst, '"')
}

// isPlain reports whether a text is ASCII and needs no escapes. Most strings are. It reads eight
// bytes at a time, some at the end twice.
func isPlain(text []byte) bool {
	if len(text) < 8 {
		word := uint64(spaces)
		for _, b := range text {
			word = word<<8 | uint64(b)
		}
		return !notPlain(word)
	}
	last := text[len(text)-8:]
	for len(text) > 8 {
		if notPlain(binary.LittleEndian.Uint64(text)) {
			return false
		}
		text = text[8:]
	}
	return !notPlain(binary.LittleEndian.Uint64(last))
}

const (
	ones   = 0x0101010101010101
	highs  = 0x80 * ones
	spaces = ' ' * ones
)

// notPlain reports whether one of eight bytes is not ASCII, or must be escaped: a control
// character, or one of "&<>\. Pairs of these differ in one bit, and are checked together.
func notPlain(word uint64) bool {
	quoteOrAmpersand := (word &^ (0x04 * ones)) ^ ('"' * ones)
	lessOrGreater := (word &^ (0x02 * ones)) ^ ('<' * ones)
	backslash := word ^ ('\\' * ones)
	// Subtracting sets the sign of a byte that was too small, or borrows from the byte above it:
	// then another byte was too small.
	found := (word - spaces) | (quoteOrAmpersand - ones) | (lessOrGreater - ones) | (backslash - ones) | word
	return found&highs != 0
}

const hexDigits = "0123456789abcdef"

// appendEscaped appends a string that is not plain, with escapes.
func appendEscaped(dst, text []byte) []byte {
	done := 0
	for i := 0; i < len(text); {
		size := 1
		if text[i] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(text[i:])
		}
		if escape := escapeOf(text[i : i+size]); escape != "" {
			dst = append(append(dst, text[done:i]...), escape...)
			done = i + size
		}
		i += size
	}
	return append(dst, text[done:]...)
}

// escapeOf returns the escape of a character in JSON; empty if it needs none. A byte that is not
// UTF-8 becomes the replacement character.
func escapeOf(character []byte) string {
	switch {
	case len(character) == 1:
		return escapes[character[0]]
	case string(character) == "\u2028":
		return `\u2028`
	case string(character) == "\u2029":
		return `\u2029`
	}
	return ""
}

// escapes are the escapes of single bytes.
var escapes = func() (all [256]string) {
	for b := range 0x20 {
		all[b] = `\u00` + string(hexDigits[b>>4]) + string(hexDigits[b&0xf])
	}
	for b := utf8.RuneSelf; b < 256; b++ {
		all[b] = `\ufffd`
	}
	all['"'], all['\\'] = `\"`, `\\`
	all['<'], all['>'], all['&'] = `\u003c`, `\u003e`, `\u0026`
	all['\b'], all['\f'], all['\n'], all['\r'], all['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	return all
}()
