// Package testobjects makes Kubernetes objects, and the bytes that an API server sends of them, for
// tests.
package testobjects

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// T has the common methods of *testing.T, *testing.F and *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Traits are the properties of a pod that tests vary.
type Traits struct {
	Namespace, Name, UID, Version string
	Labels                        map[string]string
	Node                          string
	Owners                        []string // UIDs
}

// NewPod returns a pod with some properties.
func NewPod(state Traits) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: state.Namespace, Name: state.Name, UID: types.UID(state.UID), ResourceVersion: state.Version, Labels: state.Labels,
		},
		Spec: corev1.PodSpec{NodeName: state.Node},
	}
	for _, uid := range state.Owners {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "owner-" + uid, UID: types.UID(uid),
		})
	}
	return pod
}

// ProtobufBody returns the body that an API server sends for an object, with its envelope.
func ProtobufBody(t T, object runtime.Object) []byte {
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
func JSONOf(t T, object runtime.Object) []byte {
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
func JSONBody(t T, object map[string]any) []byte {
	t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
