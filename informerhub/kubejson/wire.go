package kubejson

// The wire types that are read.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// maxTag is the greatest tag that protobuf allows.
const maxTag = 1<<32 - 1

// uvarint reads the varint at i, and tells the place behind it: a negative one if
// there is none, or none that all readers agree on. Most are one byte, and the callers
// that read many look for that first.
func uvarint(content []byte, i int) (uint64, int) {
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
			return 0, -1
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value, i
		}
	}
	return 0, -1
}

// delimited reads the length at i, and tells where what it is the length of begins
// and ends; a negative end if it is not all there.
func delimited(content []byte, i int) (from, to int) {
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
	length, from := uvarint(content, i)
	if from < 0 || length > uint64(len(content)-from) {
		return 0, -1
	}
	return from, from + int(length)
}

// value tells where the value at i begins and ends: a negative end if it is not all
// there, or is of a wire type that no API server writes.
func value(content []byte, i int, wire uint8) (from, to int) {
	switch wire {
	case wireBytes:
		return delimited(content, i)
	case wireVarint:
		_, to = uvarint(content, i)
		return i, to
	case wireFixed32:
		return within(content, i, 4)
	case wireFixed64:
		return within(content, i, 8)
	}
	return 0, -1
}

func within(content []byte, i, length int) (from, to int) {
	if length > len(content)-i {
		return 0, -1
	}
	return i, i + length
}

// cutDelimited reads a field with a length, which must begin content and have a tag
// of one byte.
func cutDelimited(content []byte, tag byte) (part, rest []byte, ok bool) {
	if len(content) == 0 || content[0] != tag {
		return nil, content, false
	}
	from, to := delimited(content, 1)
	if to < 0 {
		return nil, content, false
	}
	return content[from:to], content[to:], true
}

// cutVarint reads a varint likewise.
func cutVarint(content []byte, tag byte) (n uint64, rest []byte, ok bool) {
	if len(content) == 0 || content[0] != tag {
		return 0, content, false
	}
	n, next := uvarint(content, 1)
	if next < 0 {
		return 0, content, false
	}
	return n, content[next:], true
}
