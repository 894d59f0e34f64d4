package object

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

func TestOwners_ReadFromProtobufAndJSON(t *testing.T) {
	pod := testobjects.NewPod(traits{Name: "a", Version: "7"})
	pod.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "u1", Controller: new(bool)},
		{APIVersion: "v1", Kind: "Node", Name: "n\"1", UID: "u2", Controller: new(true)},
		{},
	}
	want := []Owner{{"apps/v1", "ReplicaSet", "web", "u1", false}, {"v1", "Node", "n\"1", "u2", true}, {}}
	for form, body := range map[string][]byte{"protobuf": testobjects.ProtobufBody(t, pod), "JSON": testobjects.JSONOf(t, pod)} {
		t.Run(form, func(t *testing.T) {
			object := decodeOne(t, &Codec{Kind: pods.GroupVersionKind()}, body)
			if got := object.Owners(); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if got, ok := object.Controller(); got != want[1] || !ok {
				t.Errorf("the controller is %v, want %v", got, want[1])
			}
			if got := object.HeadOnly().Owners(); len(got) != 0 {
				t.Errorf("without its content it has the owners %v", got)
			}
		})
	}
	for owner, want := range map[Owner]schema.GroupKind{
		{APIVersion: "apps/v1", Kind: "ReplicaSet"}: {Group: "apps", Kind: "ReplicaSet"},
		{APIVersion: "v1", Kind: "Node"}:            {Kind: "Node"},
	} {
		if got := owner.GroupKind(); got != want {
			t.Errorf("%v is of kind %v", owner, got)
		}
	}
}

func TestOwners_UnreadableOnesAreNone(t *testing.T) {
	for _, text := range []string{`{}`, `{"metadata":null}`, `{"metadata":{"ownerReferences":null}}`, `{"metadata":{"ownerReferences":{}}}`, `{"metadata":{"ownerReferences":[`} {
		object := &Object{kind: &schema.GroupVersionKind{}, format: formatJSON, raw: []byte(text)}
		if got := object.Owners(); len(got) != 0 {
			t.Errorf("%s has %v", text, got)
		}
	}
}
