package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
)

// changeAnnotation is the annotation of a pod that is changed. Its value is a number of changeDigits
// digits, so that a change keeps the length of the pod, and the pod is not encoded again.
const (
	changeAnnotation = "bench.example.com/change"
	changeDigits     = 12
)

// Field numbers of the encoding. Source: generated.proto of k8s.io/apimachinery/pkg/runtime and
// k8s.io/api/core/v1.
const (
	unknownRaw     protowire.Number = 2
	podStatus      protowire.Number = 3
	podStatusPhase protowire.Number = 1
)

var unchanged = digitsOf(0)

func digitsOf(number int) string { return fmt.Sprintf("%0*d", changeDigits, number) }

// storedPod is a pod in etcd's encoding. It is not safe for concurrent use.
type storedPod struct {
	key    string
	value  []byte
	digits []byte // the part of value that is changed
	number int    // the value of digits
	phase  []byte // the part of value that is the phase; nil unless changes concern the phase too
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
	copy(p.phase, phases[p.number%len(phases)])
	return s.put(ctx, p.key, p.value)
}

// phases are the phases that a change of the phase alternates between. They have the same length.
var phases = []corev1.PodPhase{corev1.PodRunning, corev1.PodPending}

// changePhase makes each later change concern the phase too, so that it is visible in a table of pods.
func (p *storedPod) changePhase() error {
	encoded := bytes.TrimPrefix(p.value, storedPrefix)
	phase := fieldOf(fieldOf(fieldOf(encoded, unknownRaw), podStatus), podStatusPhase)
	if len(phase) != len(corev1.PodRunning) {
		return fmt.Errorf("%s: cannot change the phase %q in place", p.key, phase)
	}
	p.phase = phase
	return nil
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
