package queries_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// livePageObjects is the number of names in each namespace. Not all objects exist all the time.
	livePageObjects = 20
	// livePageWriters is the number of concurrent writers.
	livePageWriters = 3
	// liveCountsWrites is the number of changes before and after the restart of a replica.
	liveCountsWrites = 200
)

// livePageWorld is a custom resource whose objects change all the time, with their history as a watch
// of the API server returns it: with the exact version of each deletion.
type livePageWorld struct {
	t          *testing.T
	gadgets    kit.CustomResource
	namespaces []string
	writes     *validate.Writes

	mu   sync.Mutex // guards seen
	seen string     // the newest version in writes
}

func newLivePageWorld(ctx context.Context, t *testing.T) *livePageWorld {
	t.Helper()
	w := &livePageWorld{t: t}
	for range 2 {
		w.namespaces = append(w.namespaces, kit.NewNamespace(ctx, t, kit.Cluster(t)))
	}
	w.gadgets = kit.NewCustomResource(ctx, t, kit.Cluster(t), w.namespaces[0])
	w.gadgets.Define("v1")
	w.writes = validate.NewWrites(w.namespaces...)
	w.record(ctx)
	rnd := rand.New(rand.NewPCG(kit.NewSeed(t), 0))
	for i := range livePageObjects {
		w.gadgets.Create("v1", w.namespaces[i%2], livePageName(i), anySpec(rnd))
	}
	return w
}

func livePageName(i int) string { return fmt.Sprintf("gadget-%d", i) }

// anySpec returns values of all kinds by which objects are sorted, with many ties.
func anySpec(rnd *rand.Rand) map[string]any {
	spec := map[string]any{"color": pick(rnd, "red", "green", "blue"), "rank": int64(rnd.IntN(4)), "size": pick(rnd, "500m", "1", "2Gi", "1Mi", "0.5", "1500m")}
	switch rnd.IntN(8) {
	case 0:
		spec["mixed"] = rnd.IntN(2) == 0
	case 1:
		spec["mixed"] = int64(rnd.IntN(20))
	case 2:
		spec["mixed"] = pick(rnd, "100m", "2Ki", "7")
	case 3, 4:
		spec["mixed"] = fmt.Sprintf("web-%d", rnd.IntN(12))
	case 5:
		delete(spec, "size")
	}
	return spec
}

func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// record adds the changes of a watch of the API server to the writes, until the test ends.
func (w *livePageWorld) record(ctx context.Context) {
	w.t.Helper()
	api := w.gadgets.Objects("v1", "")
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	events, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		w.t.Fatal(err)
	}
	var recording sync.WaitGroup
	recording.Go(func() {
		for event := range events.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				w.add(event.Type, object)
			}
		}
	})
	w.t.Cleanup(func() { events.Stop(); recording.Wait() })
}

func (w *livePageWorld) add(change watch.EventType, object *unstructured.Unstructured) {
	color, _, _ := unstructured.NestedString(object.Object, "spec", "color")
	write := validate.Write{
		Key: validate.Key{Namespace: object.GetNamespace(), Name: object.GetName()}, UID: string(object.GetUID()), Labels: object.GetLabels(),
		Fields: map[string]string{"spec.color": color}, Version: object.GetResourceVersion(), Acked: time.Now(),
		Deleted: change == watch.Deleted, Exact: true,
	}
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
	if !write.Deleted {
		write.Content = object.Object
	}
	w.writes.Add(write)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = write.Version
}

// churn changes objects until stop is called.
func (w *livePageWorld) churn(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var writers sync.WaitGroup
	for number := range livePageWriters {
		rnd := rand.New(rand.NewPCG(rand.Uint64(), uint64(number)))
		writers.Go(func() {
			for ctx.Err() == nil {
				w.change(ctx, rnd, livePageName(number+livePageWriters*rnd.IntN(livePageObjects/livePageWriters)))
				kit.Last(ctx, time.Duration(rnd.Int64N(int64(30*time.Millisecond))))
			}
		})
	}
	return func() { cancel(); writers.Wait() }
}

// change changes one object, or many at one time. It fails if ctx ends first.
func (w *livePageWorld) change(ctx context.Context, rnd *rand.Rand, name string) {
	api := w.gadgets.Objects("v1", w.namespaces[rnd.IntN(2)])
	now, err := api.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		_, _ = api.Create(ctx, w.object(rnd, name), metav1.CreateOptions{})
		return
	}
	switch chance := rnd.IntN(20); {
	case chance < 9:
		now.Object["spec"] = anySpec(rnd)
	case chance < 12:
		now.SetLabels(map[string]string{"color": pick(rnd, "red", "green", "blue")})
	case chance < 14:
		now.SetAnnotations(map[string]string{"touched": fmt.Sprint(rnd.Uint64())}) // moves no object
	case chance < 16:
		_ = api.Delete(ctx, name, metav1.DeleteOptions{})
		return
	case chance < 19:
		_ = api.Delete(ctx, name, metav1.DeleteOptions{})
		_, _ = api.Create(ctx, w.object(rnd, name), metav1.CreateOptions{})
		return
	default:
		_ = api.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "color=" + pick(rnd, "red", "green", "blue")})
		return
	}
	_, _ = api.Update(ctx, now, metav1.UpdateOptions{})
}

func (w *livePageWorld) object(rnd *rand.Rand, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": anySpec(rnd)}}
	object.SetAPIVersion(w.gadgets.Group + "/v1")
	object.SetKind("Gadget")
	object.SetName(name)
	object.SetLabels(map[string]string{"color": pick(rnd, "red", "green", "blue")})
	return object
}

// wantWrites returns an error while there are fewer writes.
func (w *livePageWorld) wantWrites(count int) error {
	if got := w.writes.Count(); got < count {
		return fmt.Errorf("%d writes, want %d", got, count)
	}
	return nil
}

// settle makes a last write, and blocks until the history contains it. It returns its version.
func (w *livePageWorld) settle(ctx context.Context, name string) string {
	w.t.Helper()
	last := w.gadgets.Create("v1", w.namespaces[0], name, map[string]any{"color": "red", "rank": int64(9)}).GetResourceVersion()
	kit.Eventually(ctx, w.t, "the history contains the last write", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.seen != last {
			return fmt.Errorf("it is at %s, want %s", w.seen, last)
		}
		return nil
	})
	return last
}
