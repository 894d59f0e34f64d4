package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// podsRead are pods as programs report them: their number, and the sum of the checksums of what was
// read.
type podsRead struct {
	count    int
	checksum int64
}

// podsReadAt returns what a program reports that has read the pods at some places. A program that skips
// a pod, or does not read its content, reports something else.
func (l *lab) podsReadAt(places []place) podsRead {
	read := podsRead{count: len(places)}
	for _, p := range places {
		pod := podOf(p.number, l.pods)
		words := []string{pod.Name, pod.Spec.NodeName, string(corev1.PodRunning)}
		for _, container := range pod.Spec.Containers {
			words = append(words, container.Image)
		}
		read.checksum += int64(crc32.ChecksumIEEE([]byte(strings.Join(words, " "))))
	}
	return read
}

// placesIn returns the places of the pods of some namespaces.
func (l *lab) placesIn(namespaces ...string) []place {
	return l.placesOf(func(number int) bool { return slices.Contains(namespaces, placeOf(number, l.pods).namespace) })
}

// restoreTimeout is the time limit for the restoring of pods.
const restoreTimeout = time.Minute

// originalPods are pods as they were before they were rewritten in etcd.
type originalPods struct {
	store *store
	pods  []*storedPod
}

// removeManagedFields removes managedFields from the pods of some namespaces, in etcd. The service does
// not cache managedFields, and its callers receive none. A client of the API server cannot omit
// them, and would read larger pods. The caller must call restore.
func (l *lab) removeManagedFields(ctx context.Context, namespaces ...string) (*originalPods, error) {
	s, err := openStore(l.cluster)
	if err != nil {
		return nil, err
	}
	places := l.placesIn(namespaces...)
	original := &originalPods{store: s, pods: make([]*storedPod, len(places))}
	err = inParallel(ctx, writers, len(places), func(i int) error {
		pod, err := s.readPod(ctx, places[i])
		if err != nil {
			return err
		}
		lean, err := withoutManagedFields(pod.value)
		if err != nil {
			return fmt.Errorf("%s: %w", pod.key, err)
		}
		original.pods[i] = pod
		return s.put(ctx, pod.key, lean)
	})
	if err != nil {
		return nil, errors.Join(err, original.restore(ctx))
	}
	return original, nil
}

// restore writes the original pods, also after ctx has ended.
func (o *originalPods) restore(ctx context.Context) error {
	defer o.store.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	return inParallel(ctx, writers, len(o.pods), func(i int) error {
		if o.pods[i] == nil {
			return nil
		}
		return o.store.put(ctx, o.pods[i].key, o.pods[i].value)
	})
}

// storedPrefix precedes each object that the API server stores as protobuf.
var storedPrefix = []byte("k8s\x00")

// withoutManagedFields returns a pod in etcd's encoding without its managedFields.
func withoutManagedFields(stored []byte) ([]byte, error) {
	encoded, found := bytes.CutPrefix(stored, storedPrefix)
	if !found {
		return nil, errors.New("the pod is not stored as protobuf")
	}
	var envelope runtime.Unknown
	var pod corev1.Pod
	if err := envelope.Unmarshal(encoded); err != nil {
		return nil, err
	}
	if err := pod.Unmarshal(envelope.Raw); err != nil {
		return nil, err
	}
	pod.ManagedFields = nil
	lean, err := pod.Marshal()
	if err != nil {
		return nil, err
	}
	envelope.Raw = lean
	encoded, err = envelope.Marshal()
	return append(bytes.Clone(storedPrefix), encoded...), err
}
