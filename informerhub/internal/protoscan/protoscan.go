// Package protoscan finds positions in protobuf messages: its functions skip fields without
// decoding them. They return a negative position for an incomplete field.
package protoscan

// The wire types that the API server writes. Others are not read.
const (
	Varint  = 0
	Fixed64 = 1
	Bytes   = 2
	Fixed32 = 5
)

// none is the position of a missing or invalid value.
const none = -1

// maxTag is the greatest tag that protobuf allows.
const maxTag = 1<<32 - 1

// Tag reads the tag at i, and returns the position after it. The field's number is tag>>3, its wire
// type tag&7.
func Tag(content []byte, i int) (tag uint64, next int) {
	tag, next = longUvarint(content, i)
	if tag < 1<<3 || tag > maxTag {
		return 0, none
	}
	return tag, next
}

// Uvarint reads the varint at i, and returns the position after it. It rejects varints that readers
// decode differently. Most varints have one byte: callers that read many can check for that first.
func Uvarint(content []byte, i int) (uint64, int) {
	if i < len(content) && content[i] < 0x80 {
		return uint64(content[i]), i + 1
	}
	return longUvarint(content, i)
}

func longUvarint(content []byte, i int) (value uint64, next int) {
	for shift := 0; i < len(content); shift += 7 {
		b := content[i]
		i++
		if shift == 63 && b > 1 {
			return 0, none
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value, i
		}
	}
	return 0, none
}

// Delimited reads the length at i, and returns the start and end of the bytes with that length.
func Delimited(content []byte, i int) (from, to int) {
	if i < len(content) && content[i] < 0x80 {
		from = i + 1
		to = from + int(content[i])
		if to <= len(content) {
			return from, to
		}
	}
	return longDelimited(content, i)
}

func longDelimited(content []byte, i int) (from, to int) {
	length, from := Uvarint(content, i)
	if from < 0 || length > uint64(len(content)-from) {
		return 0, none
	}
	return from, from + int(length)
}

// Value returns the start and end of the value at i. It rejects wire types that API servers do not
// write.
func Value(content []byte, i int, wire uint8) (from, to int) {
	switch wire {
	case Bytes:
		return Delimited(content, i)
	case Varint:
		_, to = Uvarint(content, i)
		return i, to
	case Fixed32:
		return within(content, i, 4)
	case Fixed64:
		return within(content, i, 8)
	}
	return 0, none
}

func within(content []byte, i, length int) (from, to int) {
	if length > len(content)-i {
		return 0, none
	}
	return i, i + length
}

// CutDelimited reads a length-delimited field, which must begin content and have a tag of one byte.
func CutDelimited(content []byte, tag byte) (value, rest []byte, ok bool) {
	if len(content) == 0 || content[0] != tag {
		return nil, content, false
	}
	from, to := Delimited(content, 1)
	if to < 0 {
		return nil, content, false
	}
	return content[from:to], content[to:], true
}

// CutVarint reads a varint field in the same way.
func CutVarint(content []byte, tag byte) (n uint64, rest []byte, ok bool) {
	if len(content) == 0 || content[0] != tag {
		return 0, content, false
	}
	n, next := Uvarint(content, 1)
	if next < 0 {
		return 0, content, false
	}
	return n, content[next:], true
}

// The tags in a map entry.
const (
	keyTag   = 1<<3 | Bytes
	valueTag = 2<<3 | Bytes
)

// CutEntry reads a map entry: its key and its value, and the value's field with its tag and length.
// An empty value may be absent. The entry must have the form that API servers write: for another
// form, client-go may use what follows.
func CutEntry(entry []byte) (key, value, field []byte, ok bool) {
	key, field, ok = CutDelimited(entry, keyTag)
	if !ok || len(field) == 0 {
		return key, nil, nil, ok
	}
	value, rest, ok := CutDelimited(field, valueTag)
	return key, value, field, ok && len(rest) == 0
}
