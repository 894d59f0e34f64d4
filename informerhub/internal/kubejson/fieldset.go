package kubejson

import "math/bits"

// maxFields is the maximum number of fields of a supported message.
const maxFields = 128

// fieldSet is a set of fields of a message, by their indexes.
type fieldSet [maxFields / 64]uint64

func (s *fieldSet) add(at int16) { s[uint(at)/64%uint(len(s))] |= 1 << (uint(at) % 64) }

func (s *fieldSet) has(at int16) bool { return s[uint(at)/64%uint(len(s))]>>(uint(at)%64)&1 != 0 }

// next removes the first field from the set and returns it; false if the set is empty.
func (s *fieldSet) next() (at int16, ok bool) {
	for i := range s {
		if word := s[i]; word != 0 {
			s[i] = word & (word - 1)
			return int16(64*i + bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}

func (s fieldSet) or(other fieldSet) fieldSet {
	for i := range s {
		s[i] |= other[i]
	}
	return s
}
