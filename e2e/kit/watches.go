package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// FirstOf returns the first response of a watch.
func FirstOf(ctx context.Context, resources ResourceClient, request *kubeconnectv1.WatchRequest) (*kubeconnectv1.WatchResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(resources.Watch(ctx, request))
	if err != nil {
		return nil, err
	}
	if !stream.Receive() {
		return nil, errors.Join(stream.Err(), stream.Close())
	}
	return stream.Msg(), nil
}

// InNamespace returns a request to watch a resource in a namespace.
func InNamespace(resource, namespace string) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace}
}

// LastPoint returns the last point at which a stream can be resumed.
func LastPoint(t *testing.T, view record.View) record.Point {
	t.Helper()
	if len(view.Points) == 0 {
		t.Fatal("no response had a resume token")
	}
	return view.Points[len(view.Points)-1]
}

// WantSnapshot fails the test unless the first snapshot contains exactly these objects.
func WantSnapshot(t *testing.T, stream *record.Stream, want ...string) {
	t.Helper()
	var got []string
	for _, event := range stream.Now().Events {
		if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
			break
		}
		if event.GetObject() != nil {
			got = append(got, record.Line(event))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("snapshot %q, want %q", got, want)
	}
}

// OpenAndCancel opens count watches, waits until each has its snapshot, and cancels all of them.
func OpenAndCancel(ctx context.Context, client ResourceClient, count int) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range count {
		group.Go(func() error { return UntilSynced(ctx, watching, client) })
	}
	return group.Wait()
}

// UntilSynced opens a watch that lasts until watching is done, and blocks until it has its
// snapshot. It selects one object, because a snapshot that is sent thousands of times must not grow
// with the number of other objects.
func UntilSynced(ctx, watching context.Context, client ResourceClient) error {
	stream, err := responses.Of(client.Watch(watching, &kubeconnectv1.WatchRequest{Resource: "namespaces", Name: "default"}))
	if err != nil {
		return err
	}
	context.AfterFunc(watching, func() { _ = stream.Close() })
	for stream.Receive() {
		for _, event := range stream.Msg().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
				return nil
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return stream.Err()
}

// HoldsOf returns a function that reports whether a client has objects of a namespace.
func HoldsOf(namespace string) func(*record.View) bool {
	return func(view *record.View) bool { return slices.Contains(heldIn(view), namespace) }
}

// NamespacesOf returns the namespaces of some objects, in order.
func NamespacesOf(objects []*kubeconnectv1.Object) []string {
	var namespaces []string
	for _, object := range objects {
		namespaces = append(namespaces, object.GetNamespace())
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

func sameNamespaces(got, want []string) error {
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		return fmt.Errorf("objects in the namespaces %q, want %q", got, want)
	}
	return nil
}

// ListsNamespaces returns an error unless a list of ConfigMaps has objects of exactly these namespaces.
func ListsNamespaces(ctx context.Context, client ResourceClient, want ...string) error {
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
	if err != nil {
		return err
	}
	return sameNamespaces(NamespacesOf(list.GetObjects()), want)
}

// heldIn returns the namespaces of a client's objects.
func heldIn(view *record.View) []string {
	var objects []*kubeconnectv1.Object
	for _, object := range view.Model.Objects {
		objects = append(objects, object)
	}
	return NamespacesOf(objects)
}

// WantHeld fails the test unless a client has objects of exactly these namespaces.
func WantHeld(t *testing.T, view record.View, namespaces ...string) {
	t.Helper()
	if err := sameNamespaces(heldIn(&view), namespaces); err != nil {
		t.Error(err)
	}
}
