package traffic

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Events are core Events, which the API server lets expire. Those that were created at
// about one time share a lease, and are deleted at one version.
var Events = Resource{Of: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Kind: "Event", Expires: true}

const (
	// burst is how many objects are created at once, at most.
	burst = 8
	// burstPause is how long after a burst the next one comes.
	burstPause = 500 * time.Millisecond
)

// expiring creates objects in bursts, and looks which of them are gone. It is owned by one
// goroutine.
type expiring struct {
	resource   Resource
	client     dynamic.Interface
	notes      *validate.Writes
	rnd        *rand.Rand
	namespaces []string
	created    int
	now        map[validate.Key]*unstructured.Unstructured
}

// burst creates a few objects and looks what there is. It returns an error only if ctx
// ends first.
func (e *expiring) burst(ctx context.Context) error {
	for range 1 + e.rnd.IntN(burst) {
		e.create(ctx, e.next())
	}
	for _, namespace := range e.namespaces {
		_ = e.look(ctx, namespace) // another one comes after the next burst
	}
	return context.Cause(ctx)
}

// next returns the place of an object that was never there.
func (e *expiring) next() validate.Key {
	e.created++
	return validate.Key{Namespace: e.namespaces[e.rnd.IntN(len(e.namespaces))], Name: fmt.Sprintf("expiring-%d", e.created)}
}

// create creates an object. Nothing is known of it when the answer is lost: it may be
// created later, and be gone before anyone looks.
func (e *expiring) create(ctx context.Context, key validate.Key) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	made, err := e.client.Resource(e.resource.Of).Namespace(key.Namespace).Create(ctx, e.resource.make(key, e.rnd), metav1.CreateOptions{})
	if err != nil {
		e.notes.Forget(key)
		return
	}
	e.now[key] = made
	e.notes.Add(e.resource.write(made))
}

// look notes which of the objects are gone from a namespace.
func (e *expiring) look(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	list, err := e.client.Resource(e.resource.Of).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	for _, item := range list.Items {
		there[item.GetName()] = true
	}
	for key, object := range e.now {
		if key.Namespace == namespace && !there[key.Name] {
			delete(e.now, key)
			e.notes.Add(validate.Write{
				Key: key, UID: string(object.GetUID()), Deleted: true, Version: list.GetResourceVersion(), Acked: time.Now(),
			})
		}
	}
	return nil
}

// finish deletes what there is, and creates a last object behind all that.
func (e *expiring) finish(ctx context.Context) error {
	for _, step := range []func(context.Context) error{e.empty, e.last} {
		if err := e.untilDone(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// untilDone repeats a step until it returns no error. It returns an error only if ctx ends
// first.
func (e *expiring) untilDone(ctx context.Context, step func(context.Context) error) error {
	for {
		err := step(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// lastObject returns the place of the last object. It expires after the traffic, perhaps
// during the next one in the same namespaces, so nothing is known of it.
func lastObject(namespaces []string) validate.Key {
	return validate.Key{Namespace: namespaces[0], Name: "curtain"}
}

// last creates the last object. One that is there already may be older than the last
// deletion, so it is deleted.
func (e *expiring) last(ctx context.Context) error {
	key := lastObject(e.namespaces)
	api := e.client.Resource(e.resource.Of).Namespace(key.Namespace)
	made, err := api.Create(ctx, e.resource.make(key, e.rnd), metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return cmp.Or(api.Delete(ctx, key.Name, metav1.DeleteOptions{}), err)
	case err != nil:
		return err
	}
	e.notes.Add(e.resource.write(made))
	return nil
}

// empty deletes all objects, and returns an error unless none is there.
func (e *expiring) empty(ctx context.Context) error {
	for _, namespace := range e.namespaces {
		api := e.client.Resource(e.resource.Of).Namespace(namespace)
		if err := api.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
		if err := e.look(ctx, namespace); err != nil {
			return err
		}
	}
	if len(e.now) > 0 {
		return fmt.Errorf("%d objects are still there", len(e.now))
	}
	return nil
}
