package informerhub

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/testobjects"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	pods    = Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Watchable: true}
	nodes   = Resource{Version: "v1", Name: "nodes", Kind: "Node", Watchable: true}
	widgets = Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true, Watchable: true}
)

type (
	tester = testobjects.T
	traits = testobjects.Traits
)

// podObject returns a pod as a cache has it.
func podObject(t tester, state traits) *Object {
	t.Helper()
	object := decodeOne(t, &object.Codec{Kind: pods.GroupVersionKind()}, testobjects.ProtobufBody(t, testobjects.NewPod(state)))
	if object.Name() != state.Name {
		t.Fatalf("a pod named %q came back as %q", state.Name, object.Name())
	}
	return object
}

// pod returns a pod of one namespace at a version.
func pod(t tester, name string, version int) *Object {
	t.Helper()
	return podObject(t, traits{Namespace: "default", Name: name, UID: "uid-" + name, Version: fmt.Sprint(version)})
}

// decodeOne returns the object in the body of an API server's response.
func decodeOne(t tester, c *object.Codec, body []byte) *Object {
	t.Helper()
	mediaType := runtime.ContentTypeJSON
	if bytes.HasPrefix(body, []byte("k8s\x00")) {
		mediaType = runtime.ContentTypeProtobuf
	}
	info, _ := runtime.SerializerInfoForMediaType(c.SupportedMediaTypes(), mediaType)
	decoded, _, err := info.Serializer.Decode(body, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	object, ok := decoded.(*Object)
	if !ok {
		t.Fatalf("decoded to %T, not an object", decoded)
	}
	return object
}

func widgetKind() schema.GroupVersionKind { return widgets.GroupVersionKind() }

// podCache returns a cache without an API server.
func podCache(windowBytes int) *scopeCache { return cacheOf(pods, windowBytes) }

func cacheOf(resource Resource, windowBytes int) *scopeCache {
	return cacheWithin(resource, defaultLimits(windowBytes))
}

func cacheWithin(resource Resource, limits limits) *scopeCache {
	c := newScopeCache(resource, limits, &activity{})
	c.selector.selectableFields = object.NewSelectableFields(resource, func(_ context.Context, field string) error {
		return apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", field))
	})
	return c
}

func selectFrom(t tester, c *scopeCache, query Query) *Selection {
	t.Helper()
	sel, err := c.Select(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

func listOf(t tester, c *scopeCache, sel *Selection) Snapshot {
	t.Helper()
	list, err := c.List(context.Background(), sel)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// items returns objects in the form in which the Reflector passes them to Replace.
func items(objects ...*Object) []any {
	all := make([]any, 0, len(objects))
	for _, object := range objects {
		all = append(all, object)
	}
	return all
}

// names returns the objects' keys, in order.
func names(objects []*Object) []string {
	keys := make([]string, 0, len(objects))
	for _, object := range objects {
		keys = append(keys, object.Key())
	}
	return keys
}

var _ tester = (*testing.T)(nil)

// panicker is a tester outside of a test.
type panicker struct{}

func (panicker) Helper()                           {}
func (panicker) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (panicker) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Next is [Watcher.Next] of one scope.
func (w *scopeWatcher) Next(ctx context.Context) (Batch, error) { return w.NextUntil(ctx, nil) }
