package kubejson

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson/samples"
	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

// mutationsOfAKind is the number of mutated messages of each kind.
const mutationsOfAKind = 10

// TestAppend_EqualsGoTypesForMutatedMessages mutates messages of every kind: bytes are changed,
// removed and moved, fields are duplicated, reordered and written with another type.
func TestAppend_EqualsGoTypesForMutatedMessages(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	direct, refused := 0, 0
	for i, kind := range samples.Kinds() {
		filler := samples.NewFiller(int64(i), 0.6)
		for range mutationsOfAKind * *thorough {
			message := samples.Random(t, filler, kind)
			for range 1 + random.Intn(3) {
				message = mutate(random, message)
			}
			check(t, kind, message)
			if _, ok := transcode(nil, rootOf(kind), message); ok {
				direct++
			}
			if _, err := appendByGoType(nil, kind, message); err != nil {
				refused++
			}
		}
	}
	t.Logf("of %d messages %d were written directly, %d rejected", len(samples.Kinds())*mutationsOfAKind**thorough, direct, refused)
}

func mutate(random *rand.Rand, message []byte) []byte {
	message = bytes.Clone(message)
	if len(message) == 0 || random.Intn(3) > 0 {
		return mutateField(random, message)
	}
	at := random.Intn(len(message))
	switch random.Intn(5) {
	case 0:
		message[at] = byte(random.Intn(256))
	case 1:
		message[at] ^= 1 << random.Intn(8)
	case 2:
		return message[:at]
	case 3:
		return slices.Delete(message, at, min(len(message), at+1+random.Intn(4)))
	case 4:
		return slices.Insert(message, at, byte(random.Intn(32)), byte(random.Intn(4)))
	}
	return message
}

// mutateField duplicates or moves a field of the message or of a nested one, or replaces its value,
// and corrects the lengths.
func mutateField(random *rand.Rand, message []byte) []byte {
	fields := split(message)
	if len(fields) == 0 {
		return message
	}
	at := random.Intn(len(fields))
	tag, next := protoscan.Uvarint(fields[at], 0)
	from, to := protoscan.Value(fields[at], next, uint8(tag&7))
	switch random.Intn(7) {
	case 0:
		fields = append(fields, fields[at])
	case 1:
		other := random.Intn(len(fields))
		fields[at], fields[other] = fields[other], fields[at]
	case 2:
		fields = slices.Insert(fields, at, []byte{0xf8, 0x3f, 1}) // an unused number
	case 3:
		fields[at] = withValue(fields[at][:next], pickValue(random))
	default:
		if tag&7 == protoscan.Bytes {
			fields[at] = withValue(fields[at][:next], mutateField(random, fields[at][from:to]))
		}
	}
	return bytes.Join(fields, nil)
}

func pickValue(random *rand.Rand) []byte {
	return [][]byte{nil, {0}, {0x08, 0}, {0x0a, 0}, {0x0a, 1, 'k'}, {0x0a, 1, 'k', 0x12, 0}, {0x08, 1, 0x10, 1, 0x1a, 0}, {0x08, 1, 0x10, 0x80, 0x08}}[random.Intn(8)]
}

// withValue returns a field with a length of at most 16383.
func withValue(tag, content []byte) []byte {
	length := []byte{byte(len(content)) | 0x80, byte(len(content) >> 7)}
	return slices.Concat(tag, length, content)
}

// split returns a message's fields; none if it is not a message.
func split(message []byte) (fields [][]byte) {
	for i := 0; i < len(message); {
		tag, next := protoscan.Uvarint(message, i)
		if next < 0 {
			return nil
		}
		_, to := protoscan.Value(message, next, uint8(tag&7))
		if to < 0 {
			return nil
		}
		fields = append(fields, message[i:to])
		i = to
	}
	return fields
}
