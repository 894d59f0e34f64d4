package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Options say how much there is to be.
type Options struct {
	// Namespaces are where the objects are.
	Namespaces []string
	// Still are namespaces in which nobody writes: what there is in them is noted too.
	Still []string
	// Objects is how many names there are in each namespace. Not all of them are
	// there all the time.
	Objects int
	// Writers is how many write at a time, and Pause how long each rests after a
	// write.
	Writers int
	Pause   time.Duration
	// Seed makes the traffic what it is, but for what the control plane does.
	Seed uint64
}

// Traffic is writers at work.
type Traffic struct {
	// Writes are the states that objects have had up to now, and after Stop all.
	Writes *validate.Writes

	stop    chan struct{}
	stopped sync.Once
	running sync.WaitGroup
	curtain func(context.Context) error // makes the last write
}

// Start notes what there is, and starts the writers. Stop must be called.
func Start(ctx context.Context, client dynamic.Interface, resource Resource, options Options) (*Traffic, error) {
	namespaces := slices.Concat(options.Namespaces, options.Still)
	there, err := look(ctx, client, resource, namespaces)
	if err != nil {
		return nil, err
	}
	t := &Traffic{Writes: validate.NewWrites(namespaces...), stop: make(chan struct{})}
	for _, object := range there {
		t.Writes.Add(resource.write(object))
	}
	if resource.Expires {
		last := lastObject(options.Namespaces) // of the traffic before
		delete(there, last)
		t.Writes.Forget(last)
		e := &expiring{
			resource: resource, client: client, notes: t.Writes, rnd: rand.New(rand.NewPCG(options.Seed, 0)),
			namespaces: options.Namespaces, now: there,
		}
		t.running.Go(func() { t.run(ctx, e.burst, burstPause) })
		t.curtain = e.finish
		return t, nil
	}
	newWriter := func(number int, keys []validate.Key) *writer {
		rnd := rand.New(rand.NewPCG(options.Seed, uint64(number)))
		w := &writer{resource: resource, client: client, notes: t.Writes, rnd: rnd, keys: keys, now: make(map[validate.Key]*unstructured.Unstructured)}
		for _, key := range keys {
			if object := there[key]; object != nil {
				w.now[key] = object
			}
		}
		return w
	}
	for i := range options.Writers {
		w := newWriter(i, options.keysOf(i))
		t.running.Go(func() { t.run(ctx, w.write, options.Pause) })
	}
	t.curtain = newWriter(options.Writers, []validate.Key{{Namespace: options.Namespaces[0], Name: "curtain"}}).last
	return t, nil
}

// look is what there is in some namespaces.
func look(ctx context.Context, client dynamic.Interface, resource Resource, namespaces []string) (map[validate.Key]*unstructured.Unstructured, error) {
	there := make(map[validate.Key]*unstructured.Unstructured)
	for _, namespace := range namespaces {
		list, err := client.Resource(resource.Of).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			object := &list.Items[i]
			there[validate.Key{Namespace: namespace, Name: object.GetName()}] = object
		}
	}
	return there, nil
}

// keysOf are the objects of one writer, for each has only one.
func (o Options) keysOf(writer int) []validate.Key {
	var keys []validate.Key
	for _, namespace := range o.Namespaces {
		for i := writer; i < o.Objects; i += o.Writers {
			keys = append(keys, validate.Key{Namespace: namespace, Name: fmt.Sprintf("traffic-%d", i)})
		}
	}
	return keys
}

func (t *Traffic) run(ctx context.Context, write func(context.Context) error, pause time.Duration) {
	for {
		if err := write(ctx); err != nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-t.stop:
			return
		}
	}
}

// Finish stops the writers and makes one more write, behind all the others, so that
// streams come to a version behind the last deletion. After that Writes is whole.
func (t *Traffic) Finish(ctx context.Context) error {
	t.Stop()
	return t.curtain(ctx)
}

// Stop ends the writers when the last write of each has been answered. A second call
// does nothing.
func (t *Traffic) Stop() {
	t.stopped.Do(func() { close(t.stop) })
	t.running.Wait()
}
