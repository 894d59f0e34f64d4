package server

import (
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// TestTheBytesOfAnObjectAreThoseOfItsMessage holds the two ways to encode an object
// against each other.
func TestTheBytesOfAnObjectAreThoseOfItsMessage(t *testing.T) {
	odd := newPod("odd", 4)
	odd.Annotations = map[string]string{"a": "<b>\"\xff\u2028", "": ""}
	odd.Spec.Containers = []corev1.Container{{Name: "c", Args: []string{"", "x"}}, {}}
	for name, object := range map[string]*informerhub.Object{
		"a pod":                       podObject(t, newPod("a", 3)),
		"a pod with odd strings":      podObject(t, odd),
		"a custom resource":           widgetObject(t, widgetText),
		"a number that no struct has": widgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":1e999}`),
		"JSON that cannot be read":    widgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":nul}`),
		"a pod that ends too early":   protobufObject(t, "Pod", "\x0a\x03\x0a\x01a\x12\x05"),
		"protobuf of an unknown kind": protobufObject(t, "Widget", "\x0a\x03\x0a\x01a"),
	} {
		for number, encoding := range kubeconnectv1.Encoding_name {
			t.Run(name+" as "+encoding, func(t *testing.T) {
				var got kubeconnectv1.Object
				if err := proto.Unmarshal(encodedObject(object, kubeconnectv1.Encoding(number)), &got); err != nil {
					t.Fatal(err)
				}
				if want := encodeObject(object, kubeconnectv1.Encoding(number)); !proto.Equal(&got, want) {
					t.Errorf("the bytes are\n%v, the message\n%v", &got, want)
				}
			})
		}
	}
}

// protobufObject is an object whose message the API server might have sent.
func protobufObject(t *testing.T, kind, message string) *informerhub.Object {
	t.Helper()
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: []byte(message)}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return readObject(t, append([]byte("k8s\x00"), body...))
}
