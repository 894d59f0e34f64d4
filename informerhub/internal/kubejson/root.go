package kubejson

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// roots are the messages of the requested kinds; nil for a kind that only its Go type can convert.
// Their number is bounded by the kinds of the scheme.
var roots struct {
	known atomic.Pointer[map[schema.GroupVersionKind]*message]

	mu       sync.Mutex // guards building and replacing known
	messages map[reflect.Type]*message
}

// rootOf returns the message of a kind; nil if only the Go type can convert it.
func rootOf(kind schema.GroupVersionKind) *message {
	if known := roots.known.Load(); known != nil {
		if root, ok := (*known)[kind]; ok {
			return root
		}
	}
	if !scheme.Scheme.Recognizes(kind) {
		return nil
	}
	return learn(kind)
}

func learn(kind schema.GroupVersionKind) *message {
	roots.mu.Lock()
	defer roots.mu.Unlock()
	known := make(map[schema.GroupVersionKind]*message)
	if before := roots.known.Load(); before != nil {
		known = maps.Clone(*before)
	}
	known[kind] = buildRootLocked(kind)
	roots.known.Store(&known)
	return known[kind]
}

// buildRootLocked builds the message of a kind. It keeps the result only if all of it is supported,
// because messages can be parts of each other.
func buildRootLocked(kind schema.GroupVersionKind) *message {
	b := builder{built: maps.Clone(roots.messages)}
	if b.built == nil {
		b.built = make(map[reflect.Type]*message)
	}
	m, err := b.message(scheme.Scheme.AllKnownTypes()[kind])
	if err != nil {
		return nil
	}
	roots.messages = b.built
	return m.ofKind(kind)
}

// ofKind returns the message as a root object, which has a kind.
func (m *message) ofKind(kind schema.GroupVersionKind) *message {
	root := *m
	root.fields = slices.Clone(m.fields)
	for i := range root.fields {
		if root.fields[i].shape == typeMeta {
			root.fields[i].absent = kindMembers(kind)
			root.always.add(int16(i))
		}
	}
	return &root
}
