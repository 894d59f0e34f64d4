package coverage_test

import (
	"context"
	"reflect"

	"connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// watches holds the watches of a row's objects with both clients, from before the first object.
type watches struct {
	through *record.Stream
	direct  watch.Interface
}

// event is a change, in a form common to both clients.
type event struct {
	Type   string
	Object any
}

// watch starts to watch the objects of the row.
func (w *walk) watch() watches {
	w.verb = "watch"
	objects := w.api.objects(w.selecting("watch", "", ""))
	before, err := objects.List(w.ctx, metav1.ListOptions{LabelSelector: w.selector()})
	if err != nil {
		w.t.Fatal(err)
	}
	direct, err := objects.Watch(w.ctx, metav1.ListOptions{LabelSelector: w.selector(), ResourceVersion: before.GetResourceVersion()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(direct.Stop)
	through := record.Watch(w.t, w.service.client, w.watching(w.selector(), ""))
	through.Synced(w.ctx)
	w.refusedWatch("an invalid label selector", "a in", "")
	w.refusedWatch("an invalid field selector", "", "nonsense=1")
	return watches{through, direct}
}

func (w *walk) watching(labels, fields string) *kubeconnectv1.WatchRequest {
	request := &kubeconnectv1.WatchRequest{
		Resource: w.row.resource(), LabelSelector: labels, FieldSelector: fields, Encoding: inJSON,
	}
	if w.row.namespaced {
		request.Namespace = w.namespace
	}
	return request
}

// refusedWatch compares the errors of watches that are rejected.
func (w *walk) refusedWatch(description, labels, fields string) {
	w.t.Helper()
	_, err := w.api.objects(w.selecting("watch", "", "")).Watch(w.ctx, metav1.ListOptions{LabelSelector: labels, FieldSelector: fields})
	if err == nil {
		w.t.Fatalf("%s: client-go returned no error", description)
	}
	w.judge(description, fails, answer{nil, failureOf(err)}, answer{nil, failureThrough(w.watchError(labels, fields))}, err)
}

func (w *walk) watchError(labels, fields string) error {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	stream, err := responses.Of(w.service.client.Watch(ctx, w.watching(labels, fields)))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
	}
	if stream.Err() == nil {
		return connect.NewError(connect.CodeUnknown, "the watch ended without an error")
	}
	return stream.Err()
}

// compareEvents creates a last object, and compares all events up to it.
func (w *walk) compareEvents(seen watches) {
	w.t.Helper()
	w.verb = "watch"
	last := w.newTwin()
	w.makeTwin(last, nil)
	name := last.text(w.parent.Name)
	expected, got := w.eventsByClientGo(seen.direct, name), w.eventsThroughService(seen.through, name)
	w.compared.Add(1)
	w.cells[w.verb].objects++
	if !reflect.DeepEqual(expected, got) {
		w.cells[w.verb].differ++
		w.t.Errorf("watch: (-client-go +kubeconnect)\n%s", cmp.Diff(expected, got))
	}
}

func (w *walk) eventsByClientGo(watcher watch.Interface, last string) (events []event) {
	w.t.Helper()
	for {
		select {
		case received, ok := <-watcher.ResultChan():
			object, _ := received.Object.(*unstructured.Unstructured)
			if !ok || object == nil {
				w.t.Fatalf("client-go's watch ended: %v", received)
			}
			events = append(events, event{string(received.Type), withoutManagers(object.Object)})
			if object.GetName() == last {
				return events
			}
		case <-w.ctx.Done():
			w.t.Fatal("client-go's watch does not return the last object")
		}
	}
}

var eventTypes = map[kubeconnectv1.EventType]watch.EventType{
	kubeconnectv1.EventType_EVENT_TYPE_ADDED:    watch.Added,
	kubeconnectv1.EventType_EVENT_TYPE_MODIFIED: watch.Modified,
	kubeconnectv1.EventType_EVENT_TYPE_DELETED:  watch.Deleted,
}

func (w *walk) eventsThroughService(stream *record.Stream, last string) (events []event) {
	w.t.Helper()
	view := stream.Until(w.ctx, "the last object is delivered", func(view *record.View) bool {
		return len(view.Events) > 0 && contains(view.Events, last)
	})
	stream.Close()
	for _, received := range record.AfterSnapshot(view.Events) {
		kind, ok := eventTypes[received.GetType()]
		if !ok {
			continue
		}
		object, err := decode(received.GetObject(), view.Kind)
		if err != nil {
			w.t.Fatal(err)
		}
		// client-go's DELETED has the last state with the version of the deletion.
		object["metadata"].(map[string]any)["resourceVersion"] = received.GetResourceVersion()
		events = append(events, event{string(kind), object})
		if received.GetObject().GetName() == last {
			break
		}
	}
	return events
}

func contains(events []*kubeconnectv1.Event, name string) bool {
	for _, received := range events {
		if received.GetObject().GetName() == name {
			return true
		}
	}
	return false
}
