package traffic

import (
	"context"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// responseTimeout bounds how long a writer waits for a response before it treats it as lost.
	responseTimeout = 10 * time.Second
	// retryDelay is the delay after a lost response.
	retryDelay = 50 * time.Millisecond
)

// writer writes a few objects, one after another. It is owned by one goroutine.
type writer struct {
	resource Resource
	client   dynamic.Interface
	notes    *validate.Writes
	rnd      *rand.Rand
	keys     []validate.Key
	now      map[validate.Key]*unstructured.Unstructured // nil for objects that do not exist
}

// write makes one change to one object. It returns an error only if ctx ends first.
func (w *writer) write(ctx context.Context) error {
	key := w.keys[w.rnd.IntN(len(w.keys))]
	now := w.now[key]
	if now == nil {
		return w.create(ctx, key)
	}
	changed := now.DeepCopy()
	switch chance := w.rnd.IntN(10); {
	case chance < 4:
		w.resource.touch(changed, w.rnd)
	case chance < 8:
		w.resource.relabel(changed, w.rnd)
	case chance < 9:
		return w.delete(ctx, key)
	default:
		if err := w.delete(ctx, key); err != nil || w.now[key] != nil {
			return err
		}
		return w.create(ctx, key)
	}
	return w.update(ctx, key, changed)
}

// last writes the only object of a writer, until a write succeeds.
func (w *writer) last(ctx context.Context) error {
	key := w.keys[0]
	if w.now[key] == nil {
		return w.create(ctx, key)
	}
	return w.settle(ctx, key)
}

func (w *writer) api(key validate.Key) dynamic.ResourceInterface {
	return w.client.Resource(w.resource.Of).Namespace(key.Namespace)
}

func (w *writer) create(ctx context.Context, key validate.Key) error {
	if err := w.tryCreate(ctx, key); err != nil {
		return w.settle(ctx, key)
	}
	return nil
}

func (w *writer) tryCreate(ctx context.Context, key validate.Key) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	created, err := w.api(key).Create(ctx, w.resource.make(key, w.rnd), metav1.CreateOptions{})
	if err == nil {
		w.note(key, created)
	}
	return err
}

func (w *writer) update(ctx context.Context, key validate.Key, changed *unstructured.Unstructured) error {
	if err := w.tryUpdate(ctx, key, changed); err != nil {
		return w.settle(ctx, key)
	}
	return nil
}

// tryUpdate fails if the object has changed since it was read.
func (w *writer) tryUpdate(ctx context.Context, key validate.Key, changed *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	updated, err := w.api(key).Update(ctx, changed, metav1.UpdateOptions{})
	if err == nil {
		w.note(key, updated)
	}
	return err
}

// delete deletes an object if it has not changed since it was read.
func (w *writer) delete(ctx context.Context, key validate.Key) error {
	within, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	version, uid := w.now[key].GetResourceVersion(), w.now[key].GetUID()
	err := w.api(key).Delete(within, key.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: (*types.UID)(&uid), ResourceVersion: &version},
	})
	if err != nil {
		return w.settle(ctx, key)
	}
	if err := w.look(ctx, key); err != nil {
		return w.settle(ctx, key)
	}
	return nil
}

// look reads the current state and records it.
func (w *writer) look(ctx context.Context, key validate.Key) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	list, err := w.api(key).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + key.Name})
	switch {
	case err != nil:
		return err
	case len(list.Items) == 0:
		w.noteDeleted(key, list.GetResourceVersion())
	default:
		w.note(key, &list.Items[0])
	}
	return nil
}

// settle resolves a lost response: it reads the current state and writes on top of it. When that
// write succeeds, the lost one cannot be applied any more: a creation finds an existing name, a
// change or deletion finds another version.
func (w *writer) settle(ctx context.Context, key validate.Key) error {
	for {
		if err := w.look(ctx, key); err == nil && w.writeOnTop(ctx, key) == nil {
			return nil
		}
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (w *writer) writeOnTop(ctx context.Context, key validate.Key) error {
	now := w.now[key]
	if now == nil {
		return w.tryCreate(ctx, key)
	}
	changed := now.DeepCopy()
	w.resource.touch(changed, w.rnd)
	return w.tryUpdate(ctx, key, changed)
}

// note records a state, unless it is already known.
func (w *writer) note(key validate.Key, state *unstructured.Unstructured) {
	if now := w.now[key]; now != nil && now.GetResourceVersion() == state.GetResourceVersion() {
		return
	}
	w.now[key] = state
	w.notes.Add(w.resource.write(state))
}

// noteDeleted records that an object does not exist at a version.
func (w *writer) noteDeleted(key validate.Key, version string) {
	now := w.now[key]
	if now == nil {
		return
	}
	delete(w.now, key)
	w.notes.Add(validate.Write{Key: key, UID: string(now.GetUID()), Deleted: true, Version: version, Acked: time.Now()})
}
