package object

import (
	"bytes"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

var (
	pods    = Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Watchable: true}
	widgets = Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true, Watchable: true}
)

type (
	tester = testobjects.T
	traits = testobjects.Traits
)

func widgetKind() schema.GroupVersionKind { return widgets.GroupVersionKind() }

// podObject returns a pod as a cache has it.
func podObject(t tester, state traits) *Object {
	t.Helper()
	object := decodeOne(t, &Codec{Kind: pods.GroupVersionKind()}, testobjects.ProtobufBody(t, testobjects.NewPod(state)))
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

// names returns the objects' keys, in order.
func names(objects []*Object) []string {
	keys := make([]string, 0, len(objects))
	for _, object := range objects {
		keys = append(keys, object.Key())
	}
	return keys
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fieldsOf(t testing.TB, paths ...string) *mask.Mask {
	t.Helper()
	fields, err := mask.Parse(paths)
	must(t, err)
	return fields
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
