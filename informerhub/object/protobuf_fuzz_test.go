package object

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

// FuzzReadProtobuf compares the values that are read from protobuf with client-go's reader, for
// every body that client-go can read.
func FuzzReadProtobuf(f *testing.F) {
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	for _, meta := range metadata {
		f.Add(testobjects.ProtobufBody(f, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "n"}}))
	}
	f.Add(testobjects.ProtobufBody(f, &expired))
	f.Add(testobjects.ProtobufBody(f, &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "c"}, Items: []corev1.Pod{{}, {}}}))
	f.Add([]byte("k8s\x00"))
	f.Add([]byte("k8s\x00\x12\x02\x0a\x00"))
	f.Add([]byte("k8s\x00\x12\x0a\x0a\x02\x0a\x00\x0a\x04\x8a\x01\x01\x00"))
	silenceLog(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, keep := range []bool{false, true} {
			c := &Codec{Kind: pods.GroupVersionKind(), KeepManagedFields: keep}
			decoded, err := c.decodeProtobuf(body)
			_, _ = Read(body)
			if object, ok := decoded.(*Object); ok && err == nil {
				checkAgainstClientGo(t, object, body, keep)
			}
		}
	})
}

func checkAgainstClientGo(t *testing.T, object *Object, body []byte, keep bool) {
	t.Helper()
	_, _ = object.JSON()
	var unknown runtime.Unknown
	var want corev1.Pod
	if unknown.Unmarshal(bytes.TrimPrefix(body, protobufPrefix)) != nil || want.Unmarshal(unknown.Raw) != nil || !canonical(unknown.Raw, &want) {
		return
	}
	if got := headOf(object); !reflect.DeepEqual(got, headFrom(&want)) {
		t.Errorf("the head is %+v, want %+v", got, headFrom(&want))
	}
	if got := object.Owners(); !slices.EqualFunc(got, want.OwnerReferences, isOwner) {
		t.Errorf("the owners are %v, want %v", got, want.OwnerReferences)
	}
	if !keep {
		want.ManagedFields = nil
	}
	var got corev1.Pod
	if message, ok := object.Protobuf(); !ok || got.Unmarshal(message) != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the content is %+v, want %+v", got, want)
	}
}

func isOwner(got Owner, want metav1.OwnerReference) bool {
	return got == Owner{want.APIVersion, want.Kind, want.Name, string(want.UID), want.Controller != nil && *want.Controller}
}

// canonical reports whether a message is encoded as client-go and API servers encode it.
func canonical(message []byte, read interface{ Marshal() ([]byte, error) }) bool {
	written, err := read.Marshal()
	return err == nil && bytes.Equal(written, message)
}
