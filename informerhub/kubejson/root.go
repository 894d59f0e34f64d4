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

// roots are the messages of the kinds that were asked for; nil for one that is left to
// its Go type. There are no more of them than the scheme has kinds.
var roots struct {
	known atomic.Pointer[map[schema.GroupVersionKind]*message]

	mu       sync.Mutex // guards building and replacing known
	messages map[reflect.Type]*message
}

// rootOf is the message of a kind; nil if it is left to its Go type.
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

// buildRootLocked keeps what was built only if all of it is understood: messages can be
// parts of each other.
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
	return m.of(kind)
}

// of is the message as the whole of an object, which has a kind.
func (m *message) of(kind schema.GroupVersionKind) *message {
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
