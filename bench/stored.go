package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// changeAnnotation is the annotation of a pod that is changed. Its value is a number of changeDigits
// digits, so that a change keeps the length of the pod, and the pod is not encoded again.
const (
	changeAnnotation = "bench.example.com/change"
	changeDigits     = 12
)

var unchanged = digitsOf(0)

func digitsOf(number int) string { return fmt.Sprintf("%0*d", changeDigits, number) }

// storedPod is a pod in etcd's encoding. It is not safe for concurrent use.
type storedPod struct {
	key    string
	value  []byte
	digits []byte // the part of value that is changed
	number int    // the value of digits
}

// readPod reads a pod that was created from podOf.
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

// change increments the number and writes the pod.
func (p *storedPod) change(ctx context.Context, s *store) error {
	p.number++
	copy(p.digits, digitsOf(p.number))
	return s.put(ctx, p.key, p.value)
}

// changeableDigits returns the bytes of the annotation's value in an encoded pod. A map entry is a
// message with the key in field 1 and the value in field 2. The name of the annotation is also in
// managedFields, but such a value does not follow it there.
func changeableDigits(pod []byte) ([]byte, error) {
	entry := protowire.AppendTag(nil, 1, protowire.BytesType)
	entry = protowire.AppendString(entry, changeAnnotation)
	entry = protowire.AppendTag(entry, 2, protowire.BytesType)
	entry = protowire.AppendVarint(entry, changeDigits)
	_, after, found := bytes.Cut(pod, entry)
	if !found || len(after) < changeDigits {
		return nil, errors.New("the pod has no annotation " + changeAnnotation +
			": an older version of the bench created it; use another -dir")
	}
	return after[:changeDigits], nil
}
