package informerhub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

var (
	pods    = Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Watchable: true}
	nodes   = Resource{Version: "v1", Name: "nodes", Kind: "Node", Watchable: true}
	widgets = Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true, Watchable: true}
)

// tester has the common methods of *testing.T, *testing.F and *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// traits are the properties of a pod that tests vary.
type traits struct {
	Namespace, Name, UID, Version string
	Labels                        map[string]string
	Node                          string
	Owners                        []string // UIDs
}

func NewPod(state traits) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: state.Namespace, Name: state.Name, UID: types.UID(state.UID), ResourceVersion: state.Version, Labels: state.Labels,
		},
		Spec: corev1.PodSpec{NodeName: state.Node},
	}
	for _, uid := range state.Owners {
		made.OwnerReferences = append(made.OwnerReferences, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "owner-" + uid, UID: types.UID(uid),
		})
	}
	return made
}

// podObject returns a pod as a cache has it.
func podObject(t tester, state traits) *Object {
	t.Helper()
	object := decodeOne(t, &Codec{Kind: pods.GroupVersionKind()}, ProtobufBody(t, NewPod(state)))
	if object.Name() != state.Name {
		t.Fatalf("a pod named %q came back as %q", state.Name, object.Name())
	}
	return object
}

// pod returns a pod of one namespace at a version.
func pod(t tester, name string, version int) *Object {
	t.Helper()
	return podObject(t, traits{"default", name, "uid-" + name, fmt.Sprint(version), nil, "", nil})
}

// ProtobufBody returns the body that an API server sends for an object, with its envelope.
func ProtobufBody(t tester, object runtime.Object) []byte {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

// JSONOf returns the JSON that an API server sends for an object.
func JSONOf(t tester, object runtime.Object) []byte {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// JSONBody returns the JSON that an API server sends for a custom resource.
func JSONBody(t tester, object map[string]any) []byte {
	t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func decodeOne(t tester, c *Codec, body []byte) *Object {
	t.Helper()
	decode := c.decodeJSON
	if bytes.HasPrefix(body, protobufPrefix) {
		decode = c.decodeProtobuf
	}
	decoded, err := decode(body)
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
func podCache(windowBytes int) *Cache { return cacheOf(pods, windowBytes) }

func cacheOf(resource Resource, windowBytes int) *Cache {
	return cacheWithin(resource, defaultLimits(windowBytes))
}

func cacheWithin(resource Resource, limits limits) *Cache {
	c := newCache(resource, limits, &activity{})
	c.selectableFields = NewSelectableFields(resource, func(_ context.Context, field string) error {
		return apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", field))
	})
	return c
}

func selectFrom(t tester, c *Cache, query Query) *Selection {
	t.Helper()
	sel, err := c.Select(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

func listOf(t tester, c *Cache, sel *Selection) Snapshot {
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

// head has the fields of an object's head, for comparison.
type head struct {
	Namespace, Name, UID, Version string
	Labels                        map[string]string
}

func headOf(o *Object) head {
	h := head{Namespace: o.Namespace(), Name: o.Name(), UID: o.UID(), Version: o.ResourceVersion()}
	for _, label := range o.Labels() {
		if h.Labels == nil {
			h.Labels = make(map[string]string)
		}
		h.Labels[label.Value().Key] = label.Value().Value
	}
	return h
}

// headFrom returns the head of an object of client-go's types.
func headFrom(meta metav1.Object) head {
	h := head{
		Namespace: meta.GetNamespace(),
		Name:      meta.GetName(),
		UID:       string(meta.GetUID()),
		Version:   meta.GetResourceVersion(),
	}
	if len(meta.GetLabels()) > 0 {
		h.Labels = meta.GetLabels()
	}
	return h
}

func unstructuredFrom(t tester, text []byte) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return object
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
