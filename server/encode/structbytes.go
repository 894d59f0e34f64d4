package encode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

// The tags of google/protobuf/struct.proto.
const (
	structEntry = 1<<3 | byte(protowire.BytesType) // Struct.fields
	listValue   = 1<<3 | byte(protowire.BytesType) // ListValue.values

	entryKey   = 1<<3 | byte(protowire.BytesType)
	entryValue = 2<<3 | byte(protowire.BytesType)

	nullInValue   = 1<<3 | byte(protowire.VarintType)
	numberInValue = 2<<3 | byte(protowire.Fixed64Type)
	stringInValue = 3<<3 | byte(protowire.BytesType)
	boolInValue   = 4<<3 | byte(protowire.VarintType)
	structInValue = 5<<3 | byte(protowire.BytesType)
	listInValue   = 6<<3 | byte(protowire.BytesType)
)

// maxStructDepth bounds the nesting of the messages of a Struct, including the Struct itself.
// Protobuf in C++, Python and Java parses 100 levels by default, and a WatchManyResponse has six
// of them around the Struct of an object that is joined to another one. An object inside an object
// adds three levels, and a list inside a list adds two.
const maxStructDepth = 100 - 6

// appendStruct appends the bytes of the google.protobuf.Struct of a JSON object: the message that
// structpb creates from the object as a map, except for the order of members. It keeps all members
// with the same name, of which parsers use the last. text must be valid JSON. It returns false, and
// dst is invalid, if text is not an object, is nested too deeply, has a number that is too large,
// or results in a Struct of more than most bytes.
func appendStruct(dst, text []byte, limit int) ([]byte, bool) {
	w := structWriter{text: text, out: dst, end: len(dst) + limit}
	w.skipSpace()
	ok := w.take('{') && w.members(1) && len(w.out) <= w.end
	return w.out, ok
}

// structWriter parses JSON and writes a Struct. Its methods report whether they succeeded.
type structWriter struct {
	text []byte
	at   int // offset in text
	out  []byte
	end  int // maximum length of out
}

// members parses an object after its brace, and writes the Struct at the given depth.
func (w *structWriter) members(depth int) bool {
	for first := true; ; first = false {
		w.skipSpace()
		if w.take('}') {
			return true
		}
		if !first && !w.take(',') {
			return false
		}
		key, ok := w.string()
		if !ok {
			return false
		}
		w.skipSpace()
		if !w.take(':') || !w.value(header{key: key, inStruct: true}, depth) {
			return false
		}
	}
}

// elements parses a list after its bracket, and writes the ListValue at the given depth.
func (w *structWriter) elements(depth int) bool {
	for first := true; ; first = false {
		w.skipSpace()
		if w.take(']') {
			return true
		}
		if !first && !w.take(',') || !w.value(header{}, depth) {
			return false
		}
	}
}

// value parses a value, and writes the Value with its header into a message at the given depth.
func (w *structWriter) value(h header, depth int) bool {
	w.skipSpace()
	depth = h.valueDepth(depth)
	switch {
	case w.at == len(w.text) || depth > maxStructDepth || len(w.out) > w.end+maxReserved:
		return false
	case w.take('{'):
		return w.nested(h, structInValue, depth+1)
	case w.take('['):
		return w.nested(h, listInValue, depth+1)
	case w.text[w.at] == '"':
		text, ok := w.string()
		w.out = append(h.append(w.out, 1+protowire.SizeBytes(len(text))), stringInValue)
		w.out = protowire.AppendString(w.out, text)
		return ok
	case w.takeWord("null"):
		w.out = append(h.append(w.out, 2), nullInValue, 0)
	case w.takeWord("false"):
		w.out = append(h.append(w.out, 2), boolInValue, 0)
	case w.takeWord("true"):
		w.out = append(h.append(w.out, 2), boolInValue, 1)
	default:
		return w.number(h)
	}
	return true
}

// usualSize is the expected size of nested content. Most sizes take as many bytes as its own.
const usualSize = 1 << 8

// maxReserved bounds the bytes that are reserved for sizes, at all depths, in addition to the bytes
// that they take in the end.
const maxReserved = 4 * maxStructDepth

// nested writes an object or a list as a value. The size precedes the content and is only known
// after the content has been written: the content is moved if the size takes more or fewer bytes
// than expected.
func (w *structWriter) nested(h header, tag byte, depth int) bool {
	start := len(w.out)
	expected := h.nestedSize(usualSize)
	w.out = slices.Grow(w.out, expected)[:start+expected]
	if depth > maxStructDepth || !w.content(tag, depth) {
		return false
	}
	content := w.out[start+expected:]
	size := len(content)
	needed := h.nestedSize(size)
	w.out = slices.Grow(w.out[:start], needed+size)[:start+needed+size]
	copy(w.out[start+needed:], content)
	before := append(h.append(w.out[:start], 1+protowire.SizeBytes(size)), tag)
	protowire.AppendVarint(before, uint64(size))
	return true
}

func (w *structWriter) content(tag byte, depth int) bool {
	if tag == structInValue {
		return w.members(depth)
	}
	return w.elements(depth)
}

// header is the part of the encoding before a Value: its tag and size in a list, and also the entry
// and the key in a Struct.
type header struct {
	key      string
	inStruct bool
}

// append appends the header of a value of the given size.
func (h header) append(dst []byte, size int) []byte {
	if !h.inStruct {
		return protowire.AppendVarint(append(dst, listValue), uint64(size))
	}
	entry := 2 + protowire.SizeBytes(len(h.key)) + protowire.SizeBytes(size)
	dst = protowire.AppendVarint(append(dst, structEntry), uint64(entry))
	dst = protowire.AppendString(append(dst, entryKey), h.key)
	return protowire.AppendVarint(append(dst, entryValue), uint64(size))
}

// valueDepth returns the depth of a value in a message at the given depth. In a Struct, the entry
// is a level between them.
func (h header) valueDepth(depth int) int {
	if h.inStruct {
		return depth + 2
	}
	return depth + 1
}

// nestedSize returns the number of bytes before the content of a nested value of the given size.
func (h header) nestedSize(size int) int {
	value := 1 + protowire.SizeBytes(size)
	before := 1 + protowire.SizeBytes(value) - value
	if h.inStruct {
		entry := 2 + protowire.SizeBytes(len(h.key)) + protowire.SizeBytes(value)
		before = 1 + protowire.SizeBytes(entry) - value
	}
	return before + value - size
}

// number parses a number as a float64, like in a map.
func (w *structWriter) number(h header) bool {
	start := w.at
	for w.at < len(w.text) && isInNumber(w.text[w.at]) {
		w.at++
	}
	number, err := strconv.ParseFloat(stringView(w.text[start:w.at]), 64)
	w.out = append(h.append(w.out, 9), numberInValue)
	w.out = binary.LittleEndian.AppendUint64(w.out, math.Float64bits(number))
	return err == nil
}

func isInNumber(b byte) bool {
	return '0' <= b && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'
}

// string parses a string.
func (w *structWriter) string() (string, bool) {
	w.skipSpace()
	if !w.take('"') {
		return "", false
	}
	length := bytes.IndexByte(w.text[w.at:], '"')
	if length < 0 {
		return "", false
	}
	text := w.text[w.at : w.at+length]
	if bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		return w.escapedString()
	}
	w.at += length + 1
	return stringView(text), true
}

// escapedString parses a string, after its quote, that has escapes or invalid UTF-8.
func (w *structWriter) escapedString() (text string, ok bool) {
	start := w.at - 1
	if w.at = jsonscan.SkipString(w.text, start); w.at == jsonscan.None {
		return "", false
	}
	return text, json.Unmarshal(w.text[start:w.at], &text) == nil
}

func (w *structWriter) skipSpace() { w.at = jsonscan.SkipSpace(w.text, w.at) }

// take reads a character if it is the next one.
func (w *structWriter) take(character byte) bool {
	if w.at == len(w.text) || w.text[w.at] != character {
		return false
	}
	w.at++
	return true
}

func (w *structWriter) takeWord(word string) bool {
	if !bytes.HasPrefix(w.text[w.at:], []byte(word)) {
		return false
	}
	w.at += len(word)
	return true
}

// stringView returns b as a string that shares its memory.
func stringView(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
