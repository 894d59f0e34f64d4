package auth

import (
	"context"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mirror follows one kind of objects in the cluster. It is the store of its follower: it passes
// objects on, and keeps only their names.
type mirror struct {
	*follower                     // set once, with those below
	set          func(named, any) // receives each object; nil for a deleted one
	countChanged func()           // called when the number of objects changes

	mu    sync.Mutex // guards the fields below
	names map[named]struct{}
}

type mirrorState int

const (
	pending mirrorState = iota // it has not been listed yet
	synced
	refused // the service is not allowed to list it, or the cluster does not serve it
)

// newMirror returns a mirror of the objects that api lists. set is called with each created or
// changed object, and with nil for a deleted one. The mirror does not retain the objects.
func newMirror[T any, L runtime.Object](resource string, api lister[L], set func(named, *T)) *mirror {
	return &mirror{
		follower:     newFollower[T](resource, "changes of permissions are noticed late", api),
		set:          func(name named, object any) { typed, _ := object.(*T); set(name, typed) },
		countChanged: func() {},
		names:        make(map[named]struct{}),
	}
}

// run follows the objects until the context is done.
func (m *mirror) run(ctx context.Context) { m.follower.run(ctx, m) }

// namespaces returns the sorted names of the objects in the mirror, which must be cluster-scoped.
func (m *mirror) namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make(map[string]struct{}, len(m.names))
	for name := range m.names {
		found[name.name] = struct{}{}
	}
	return sortedKeys(found)
}

// Add implements [cache.ReflectorStore]. Only the Reflector's goroutine calls it.
func (m *mirror) Add(object any) error { return m.Update(object) }

// Update implements [cache.ReflectorStore].
func (m *mirror) Update(object any) error {
	name, err := nameOf(object)
	if err != nil {
		return err
	}
	m.addName(name)
	m.set(name, object)
	return nil
}

// Delete implements [cache.ReflectorStore].
func (m *mirror) Delete(object any) error {
	name, err := nameOf(object)
	if err != nil {
		return err
	}
	m.removeName(name)
	return nil
}

func (m *mirror) addName(name named) {
	m.mu.Lock()
	count := len(m.names)
	m.names[name] = struct{}{}
	added := len(m.names) > count
	m.mu.Unlock()
	if added {
		m.countChanged()
	}
}

func (m *mirror) removeName(name named) {
	m.mu.Lock()
	delete(m.names, name)
	m.mu.Unlock()
	m.set(name, nil)
	m.countChanged()
}

// Replace implements [cache.ReflectorStore].
func (m *mirror) Replace(objects []any, version string) error {
	m.mu.Lock()
	deleted := maps.Clone(m.names)
	m.mu.Unlock()
	for _, object := range objects {
		if err := m.Update(object); err != nil {
			return err
		}
		name, _ := nameOf(object)
		delete(deleted, name)
	}
	for name := range deleted {
		m.removeName(name)
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
