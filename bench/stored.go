package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// changeAnnotation is what is changed in a pod: a number of changeDigits digits, so
// that a change keeps the pod's length and nothing has to be encoded anew.
const (
	changeAnnotation = "bench.example.com/change"
	changeDigits     = 12
)

var unchanged = digitsOf(0)

func digitsOf(number int) string { return fmt.Sprintf("%0*d", changeDigits, number) }

// storedPod is a pod as etcd has it. It has one user at a time.
type storedPod struct {
	key    string
	value  []byte
	digits []byte // the part of value that is changed
	number int    // what the digits say
}

// readPod reads a pod that was made by podOf.
func (s *store) readPod(ctx context.Context, at place) (*storedPod, error) {
	key := "/registry/pods/" + at.namespace + "/" + at.name
	value, err := s.get(ctx, key)
	if err != nil {
		return nil, err
	}
	digits, err := changeableDigits(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	number, err := strconv.Atoi(string(digits))
	return &storedPod{key: key, value: value, digits: digits, number: number}, err
}

// change writes the pod with the next number.
func (p *storedPod) change(ctx context.Context, s *store) error {
	p.number++
	copy(p.digits, digitsOf(p.number))
	return s.put(ctx, p.key, p.value)
}

// changeableDigits finds the annotation's value in an encoded pod: an entry of a map
// is a message of which field 1 is the key and field 2 the value. managedFields has
// the annotation's name too, but not followed by such a value.
func changeableDigits(pod []byte) ([]byte, error) {
	entry := protowire.AppendTag(nil, 1, protowire.BytesType)
	entry = protowire.AppendString(entry, changeAnnotation)
	entry = protowire.AppendTag(entry, 2, protowire.BytesType)
	entry = protowire.AppendVarint(entry, changeDigits)
	_, after, found := bytes.Cut(pod, entry)
	if !found || len(after) < changeDigits {
		return nil, errors.New("the pod has no annotation " + changeAnnotation + ": it was made by an earlier bench; give another -dir")
	}
	return after[:changeDigits], nil
}
