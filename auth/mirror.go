package auth

import (
	"context"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mirror keeps what the service knows of one kind in the cluster. It is the store of its follower:
// objects are handed on as they come; only their names stay here.
type mirror struct {
	*follower                  // set once, with those below
	set       func(named, any) // takes an object; nil is one that is gone
	counted   func()           // called when there is an object more or less

	mu    sync.Mutex // guards the fields below
	names map[named]struct{}
}

type mirrorState int

const (
	pending mirrorState = iota // it has not been listed yet
	synced
	refused // the service may not list it, or the cluster has none
)

// newMirror makes a mirror of what api lists. set is given each object that comes or
// changes, and nil for one that goes; it keeps no more of an object than it needs.
func newMirror[T any, L runtime.Object](resource string, api lister[L], set func(named, *T)) *mirror {
	return &mirror{
		follower: newFollower[T](resource, "changes of rights are seen late", api),
		set:      func(name named, object any) { typed, _ := object.(*T); set(name, typed) },
		counted:  func() {},
		names:    make(map[named]struct{}),
	}
}

// run keeps the mirror until the context ends.
func (m *mirror) run(ctx context.Context) { m.follower.run(ctx, m) }

// namespaces are the names in the mirror, in order, of objects without a namespace.
func (m *mirror) namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make(map[string]struct{}, len(m.names))
	for name := range m.names {
		found[name.name] = struct{}{}
	}
	return sortedKeys(found)
}

// Add implements [cache.ReflectorStore], for the Reflector's goroutine alone.
func (m *mirror) Add(object any) error { return m.Update(object) }

// Update implements [cache.ReflectorStore].
func (m *mirror) Update(object any) error {
	name, err := nameOf(object)
	if err != nil {
		return err
	}
	m.keep(name)
	m.set(name, object)
	return nil
}

// Delete implements [cache.ReflectorStore].
func (m *mirror) Delete(object any) error {
	name, err := nameOf(object)
	if err != nil {
		return err
	}
	m.forget(name)
	return nil
}

func (m *mirror) keep(name named) {
	m.mu.Lock()
	count := len(m.names)
	m.names[name] = struct{}{}
	more := len(m.names) > count
	m.mu.Unlock()
	if more {
		m.counted()
	}
}

func (m *mirror) forget(name named) {
	m.mu.Lock()
	delete(m.names, name)
	m.mu.Unlock()
	m.set(name, nil)
	m.counted()
}

// Replace implements [cache.ReflectorStore].
func (m *mirror) Replace(objects []any, version string) error {
	m.mu.Lock()
	gone := maps.Clone(m.names)
	m.mu.Unlock()
	for _, object := range objects {
		if err := m.Update(object); err != nil {
			return err
		}
		name, _ := nameOf(object)
		delete(gone, name)
	}
	for name := range gone {
		m.forget(name)
	}
	m.UpdateResourceVersion(version)
	m.synced()
	return nil
}

// Resync implements [cache.ReflectorStore]; there is nothing to do.
func (m *mirror) Resync() error { return nil }

func nameOf(object any) (named, error) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return named{}, fmt.Errorf("%T has no name", object)
	}
	return named{meta.GetNamespace(), meta.GetName()}, nil
}
