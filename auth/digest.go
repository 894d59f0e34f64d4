package auth

import (
	"encoding/binary"
	"hash"
	"io"
)

// digest hashes lists of strings without ambiguity: the length of each string and each list
// precedes it.
type digest struct{ hash.Hash }

func (d digest) text(text string) {
	d.length(len(text))
	_, _ = io.WriteString(d, text) // a hash never fails
}

func (d digest) texts(texts []string) {
	d.length(len(texts))
	for _, text := range texts {
		d.text(text)
	}
}

func (d digest) length(length int) {
	var buffer [8]byte
	binary.BigEndian.PutUint64(buffer[:], uint64(length))
	_, _ = d.Write(buffer[:])
}
