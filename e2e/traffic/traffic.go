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

// Options configure the traffic.
type Options struct {
	// Namespaces are the namespaces of the objects.
	Namespaces []string
	// Still are namespaces without writes, whose objects are recorded too.
	Still []string
	// Objects is the number of names in each namespace. Not all objects exist all the time.
	Objects int
	// Writers is the number of concurrent writers, and Pause the time that each pauses after a
	// write.
	Writers int
	Pause   time.Duration
	// Seed determines the traffic, except for the reactions of the control plane.
	Seed uint64
}

// Traffic is a group of running writers.
type Traffic struct {
	// Writes holds the recorded states of objects; after Stop it is complete.
	Writes *validate.Writes

	stop    chan struct{}
	stopped sync.Once
	running sync.WaitGroup
	curtain func(context.Context) error // performs the last write
}

// Start records the existing objects and starts the writers. The caller must call Stop.
func Start(ctx context.Context, client dynamic.Interface, resource Resource, options Options) (*Traffic, error) {
	resource.owner = options.Namespaces[0]
	namespaces := slices.Concat(options.Namespaces, options.Still)
	existing, err := look(ctx, client, resource, namespaces)
	if err != nil {
		return nil, err
	}
	t := &Traffic{Writes: validate.NewWrites(namespaces...), stop: make(chan struct{})}
	for _, object := range existing {
		t.Writes.Add(resource.write(object))
	}
	if resource.Expires {
		last := lastObject(options.Namespaces) // of an earlier traffic
		delete(existing, last)
		t.Writes.Forget(last)
		e := &expiring{
			resource: resource, client: client, notes: t.Writes, rnd: rand.New(rand.NewPCG(options.Seed, 0)),
			namespaces: options.Namespaces, now: existing,
		}
		t.running.Go(func() { t.run(ctx, e.burst, burstPause) })
		t.curtain = e.finish
		return t, nil
	}
	newWriter := func(number int, keys []validate.Key) *writer {
		rnd := rand.New(rand.NewPCG(options.Seed, uint64(number)))
		w := &writer{resource: resource, client: client, notes: t.Writes, rnd: rnd, keys: keys, now: make(map[validate.Key]*unstructured.Unstructured)}
		for _, key := range keys {
			if object := existing[key]; object != nil {
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

// look returns the existing objects of some namespaces.
func look(ctx context.Context, client dynamic.Interface, resource Resource, namespaces []string) (map[validate.Key]*unstructured.Unstructured, error) {
	existing := make(map[validate.Key]*unstructured.Unstructured)
	for _, namespace := range namespaces {
		list, err := client.Resource(resource.Of).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			object := &list.Items[i]
			existing[validate.Key{Namespace: namespace, Name: object.GetName()}] = object
		}
	}
	return existing, nil
}

// keysOf returns the objects of one writer. Each object has exactly one writer.
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

// Finish stops the writers and makes one more write after all others, so that streams reach a
// version newer than the last deletion. After that Writes is complete.
func (t *Traffic) Finish(ctx context.Context) error {
	t.Stop()
	return t.curtain(ctx)
}

// Stop ends the writers when the last write of each has been acknowledged. A second call does
// nothing.
func (t *Traffic) Stop() {
	t.stopped.Do(func() { close(t.stop) })
	t.running.Wait()
}
