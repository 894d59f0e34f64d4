package server

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

func newPod(name string, version int) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version),
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
	}
}

// podObject returns a pod as the API server sends it in protobuf.
func podObject(t testing.TB, pod *corev1.Pod) *informerhub.Object {
	t.Helper()
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(pod, &body); err != nil {
		t.Fatal(err)
	}
	return readObject(t, body.Bytes())
}

// builtInObject returns a built-in object as the API server sends it in protobuf.
func builtInObject(t testing.TB, object runtime.Object) *informerhub.Object {
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
	return readObject(t, body.Bytes())
}

func widgetObject(t testing.TB, content string) *informerhub.Object {
	t.Helper()
	return readObject(t, []byte(content))
}

func readObject(t testing.TB, body []byte) *informerhub.Object {
	t.Helper()
	object, err := object.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// podSnapshot returns a snapshot of n pods.
func podSnapshot(t testing.TB, n int) informerhub.Snapshot {
	t.Helper()
	snapshot := informerhub.Snapshot{ResourceVersion: "100", Position: informerhub.Position{Version: "100"}, Complete: true}
	for i := range n {
		snapshot.Objects = append(snapshot.Objects, podObject(t, newPod(fmt.Sprintf("pod-%04d", i), i+1)))
	}
	return snapshot
}

func jsonOf(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
