// Package objecttest builds objects for tests, as the API server sends them.
package objecttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// Widgets is a custom resource.
var Widgets = informerhub.Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true, Watchable: true}

// WidgetText is an object of Widgets.
const WidgetText = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"3"},"spec":{"size":3}}`

// Pod returns a pod in the namespace "default" with a resource version.
func Pod(name string, version int) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version),
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
	}
}

// PodObject returns a pod as the API server sends it in protobuf.
func PodObject(t testing.TB, pod *corev1.Pod) *informerhub.Object {
	t.Helper()
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(pod, &body); err != nil {
		t.Fatal(err)
	}
	return Read(t, body.Bytes())
}

// BuiltInObject returns a built-in object as the API server sends it in protobuf.
func BuiltInObject(t testing.TB, object runtime.Object) *informerhub.Object {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	return Read(t, body.Bytes())
}

// WidgetObject returns an object as the API server sends it in JSON.
func WidgetObject(t testing.TB, content string) *informerhub.Object {
	t.Helper()
	return Read(t, []byte(content))
}

// Read returns the object in a response of the API server.
func Read(t testing.TB, body []byte) *informerhub.Object {
	t.Helper()
	object, err := object.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// PodSnapshot returns a snapshot of n pods.
func PodSnapshot(t testing.TB, n int) informerhub.Snapshot {
	t.Helper()
	snapshot := informerhub.Snapshot{ResourceVersion: "100", Position: informerhub.Position{Version: "100"}, Complete: true}
	for i := range n {
		snapshot.Objects = append(snapshot.Objects, PodObject(t, Pod(fmt.Sprintf("pod-%04d", i), i+1)))
	}
	return snapshot
}

// JSON returns the JSON of a value.
func JSON(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ProtobufObject returns an object whose message the API server could have sent.
func ProtobufObject(t *testing.T, kind, message string) *informerhub.Object {
	t.Helper()
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: []byte(message)}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return Read(t, append([]byte("k8s\x00"), body...))
}
