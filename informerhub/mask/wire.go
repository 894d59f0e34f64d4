package mask

import "google.golang.org/protobuf/encoding/protowire"

// none is the place that is answered where the bytes are no message.
const none = -1

// maxTag is the greatest tag that protobuf allows.
const maxTag = 1<<32 - 1

// uvarint reads the varint at i, and tells the place behind it; none if there is no such
// place. Most are one byte.
func uvarint(content []byte, i int) (value uint64, next int) {
	if i < len(content) && content[i] < 0x80 {
		return uint64(content[i]), i + 1
	}
	return longUvarint(content, i)
}

func longUvarint(content []byte, i int) (value uint64, next int) {
	value, length := protowire.ConsumeVarint(content[i:])
	if length < 0 {
		return 0, none
	}
	return value, i + length
}

// value tells where the value at i begins and ends: none if it is not all there, or of a
// wire type that no API server writes.
func value(content []byte, i int, wire protowire.Type) (from, to int) {
	length := uint64(0)
	switch wire {
	case protowire.BytesType:
		length, i = uvarint(content, i)
	case protowire.VarintType:
		_, to = uvarint(content, i)
		return i, to
	case protowire.Fixed32Type:
		length = 4
	case protowire.Fixed64Type:
		length = 8
	default:
		return 0, none
	}
	if i < 0 || length > uint64(len(content)-i) {
		return 0, none
	}
	return i, i + int(length)
}

// cutDelimited reads a field with a length, which must begin content and have a tag of
// one byte.
func cutDelimited(content []byte, tag byte) (part, bool) {
	if len(content) == 0 || content[0] != tag {
		return part{}, false
	}
	from, to := value(content, 1, protowire.BytesType)
	if to < 0 {
		return part{}, false
	}
	return part{whole: content[:to], tag: content[:1], value: content[from:to], wire: protowire.BytesType}, true
}
