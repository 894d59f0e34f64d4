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

// Events is the resource of core Events, which the API server lets expire. Events created at about
// the same time share a lease, and are deleted at one version.
var Events = Resource{Of: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Kind: "Event", Expires: true}

const (
	// burst is the maximum number of objects created at once.
	burst = 8
	// burstPause is the pause between two bursts.
	burstPause = 500 * time.Millisecond
)

// expiring creates objects in bursts, and observes which of them are deleted. It is owned by one
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

// burst creates a few objects and records deletions. It returns an error only if ctx ends first.
func (e *expiring) burst(ctx context.Context) error {
	for range 1 + e.rnd.IntN(burst) {
		e.create(ctx, e.next())
	}
	for _, namespace := range e.namespaces {
		_ = e.look(ctx, namespace) // repeated after the next burst
	}
	return context.Cause(ctx)
}

// next returns the key of a new object.
func (e *expiring) next() validate.Key {
	e.created++
	return validate.Key{Namespace: e.namespaces[e.rnd.IntN(len(e.namespaces))], Name: fmt.Sprintf("expiring-%d", e.created)}
}

// create creates an object. The object is not judged if the response is lost: it may be created
// later, and be deleted before any read.
func (e *expiring) create(ctx context.Context, key validate.Key) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	created, err := e.client.Resource(e.resource.Of).Namespace(key.Namespace).Create(ctx, e.resource.make(key, e.rnd), metav1.CreateOptions{})
	if err != nil {
		e.notes.Forget(key)
		return
	}
	e.now[key] = created
	e.notes.Add(e.resource.write(created))
}

// look records which objects of a namespace have been deleted.
func (e *expiring) look(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	list, err := e.client.Resource(e.resource.Of).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	present := make(map[string]bool)
	for _, item := range list.Items {
		present[item.GetName()] = true
	}
	for key, object := range e.now {
		if key.Namespace == namespace && !present[key.Name] {
			delete(e.now, key)
			e.notes.Add(validate.Write{
				Key: key, UID: string(object.GetUID()), Deleted: true, Expired: true, Version: list.GetResourceVersion(), Acked: time.Now(),
			})
		}
	}
	return nil
}

// finish deletes all objects, and creates a last object after the deletions.
func (e *expiring) finish(ctx context.Context) error {
	for _, step := range []func(context.Context) error{e.empty, e.last} {
		if err := e.untilDone(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// untilDone repeats a step until it succeeds. It returns an error only if ctx ends first.
func (e *expiring) untilDone(ctx context.Context, step func(context.Context) error) error {
	for {
		err := step(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// lastObject returns the key of the last object. It expires after the traffic, perhaps during the
// next traffic in the same namespaces, so it is not judged.
func lastObject(namespaces []string) validate.Key {
	return validate.Key{Namespace: namespaces[0], Name: "curtain"}
}

// last creates the last object. If it exists already it may be older than the last deletion, so it
// is deleted first.
func (e *expiring) last(ctx context.Context) error {
	key := lastObject(e.namespaces)
	api := e.client.Resource(e.resource.Of).Namespace(key.Namespace)
	created, err := api.Create(ctx, e.resource.make(key, e.rnd), metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return cmp.Or(api.Delete(ctx, key.Name, metav1.DeleteOptions{}), err)
	case err != nil:
		return err
	}
	e.notes.Add(e.resource.write(created))
	return nil
}

// empty deletes all objects, and returns an error unless none is left.
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
		return fmt.Errorf("%d objects are not deleted yet", len(e.now))
	}
	return nil
}
