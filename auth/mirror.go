package auth

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// mirror keeps what the service knows of one kind in the cluster, by client-go's
// Reflector. Objects are handed on as they come; only their names stay here.
type mirror struct {
	resource string
	expected runtime.Object
	list     func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
	set      func(named, any) // takes an object; nil is one that is gone
	counted  func()           // called when there is an object more or less

	mu      sync.Mutex // guards the fields below
	names   map[named]struct{}
	state   mirrorState
	settled chan struct{} // closed when state is no longer pending
}

type mirrorState int

const (
	pending mirrorState = iota // it has not been listed yet
	synced
	refused // the service may not list it, or the cluster has none
)

// refusedPause is how long a mirror waits that was refused: the service's own rights do
// not change often.
const refusedPause = time.Minute

// mirrorBackoff is how a Reflector waits between attempts: up to about 30 seconds.
func mirrorBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 10, Cap: 30 * time.Second, Jitter: 0.2}
}

// lister is the part of client-go's typed clients that a mirror needs.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// newMirror makes a mirror of what api lists. set is given each object that comes or
// changes, and nil for one that goes; it keeps no more of an object than it needs.
func newMirror[T any, L runtime.Object](resource string, api lister[L], set func(named, *T)) *mirror {
	object, _ := any(new(T)).(runtime.Object)
	return &mirror{
		resource: resource,
		expected: object,
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		},
		watch:   api.Watch,
		set:     func(name named, object any) { typed, _ := object.(*T); set(name, typed) },
		counted: func() {},
		names:   make(map[named]struct{}),
		settled: make(chan struct{}),
	}
}

// run keeps the mirror until the context ends.
func (m *mirror) run(ctx context.Context) {
	for ctx.Err() == nil {
		m.follow(ctx)
		select {
		case <-time.After(refusedPause):
		case <-ctx.Done():
		}
	}
}

// follow runs a Reflector until the context ends or its list is refused.
func (m *mirror) follow(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := m.list(ctx, options)
			if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
				m.settle(refused, err)
				stop()
			}
			return list, err
		},
		WatchFuncWithContext: m.watch,
	}
	cache.NewReflectorWithOptions(lists, m.expected, m, cache.ReflectorOptions{
		Name:            "auth",
		TypeDescription: m.resource,
		Backoff:         mirrorBackoff(),
	}).RunWithContext(ctx)
}

func (m *mirror) settle(state mirrorState, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == pending {
		close(m.settled)
	}
	if state == refused && m.state != refused {
		slog.Warn("changes of rights are seen late, for the service may not list and watch "+m.resource, "error", err)
	}
	m.state = state
}

// known is the mirror's state. It waits while that is pending, until the context ends.
func (m *mirror) known(ctx context.Context) mirrorState {
	select {
	case <-m.settled:
	case <-ctx.Done():
	}
	return m.now()
}

func (m *mirror) now() mirrorState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

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
func (m *mirror) Replace(objects []any, _ string) error {
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
	m.settle(synced, nil)
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
