package object

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

var metadata = map[string]metav1.ObjectMeta{
	"nothing but a name": {Name: "a"},
	"everything": {
		Name: "a", GenerateName: "a-", Namespace: "ns", SelfLink: "/x", UID: "u", ResourceVersion: "12", Generation: 3,
		CreationTimestamp: metav1.Unix(1, 0), DeletionTimestamp: &metav1.Time{Time: time.Unix(2, 0)},
		Labels: map[string]string{"a": "b", "app.kubernetes.io/name": "web"}, Annotations: map[string]string{"x": "y"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "j", UID: "w"}}, Finalizers: []string{"f"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}, {Manager: "n"}},
	},
	"labels with empty values":              {Name: "a", Labels: map[string]string{"empty": "", "": "no key"}},
	"many labels":                           {Name: "a", Labels: manyLabels(100)},
	"text that JSON escapes":                {Name: `q"\`, Namespace: "<&>\u2028", Labels: map[string]string{"\t\n": `"`, "é": "世界😀"}},
	"an annotation of the watch-list's own": {Name: "a", UID: "u", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}},
	"an annotation as large as allowed":     {Name: "a", UID: "u", Annotations: map[string]string{"big": strings.Repeat("x", 256<<10)}},
	"only managedFields and a name":         {Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
	"a version beyond 64 bits":              {Name: "a", ResourceVersion: "123456789012345678901234567890"},
}

func manyLabels(n int) map[string]string {
	labels := make(map[string]string, n)
	for i := range n {
		labels[fmt.Sprint("key-", i)] = fmt.Sprint("value-", i)
	}
	return labels
}

func TestHead_EqualsThatOfClientGo(t *testing.T) {
	for name, meta := range metadata {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, managedFields kept: %v", name, keep), func(t *testing.T) {
				pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "n"}}
				fromProtobuf := decodeOne(t, &Codec{Kind: pods.GroupVersionKind(), KeepManagedFields: keep}, testobjects.ProtobufBody(t, pod))
				checkHead(t, fromProtobuf, pod)

				fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
				if err != nil {
					t.Fatal(err)
				}
				body := testobjects.JSONBody(t, fields)
				checkHead(t, decodeOne(t, &Codec{Kind: widgetKind(), KeepManagedFields: keep}, body), unstructuredFrom(t, withKind(t, fields)))
			})
		}
	}
}

func withKind(t tester, fields map[string]any) []byte {
	t.Helper()
	fields["kind"], fields["apiVersion"] = "Widget", "example.com/v1"
	return testobjects.JSONBody(t, fields)
}

func checkHead(t *testing.T, object *Object, want metav1.Object) {
	t.Helper()
	if diff := cmp.Diff(headFrom(want), headOf(object)); diff != "" {
		t.Errorf("the head differs (-client-go +informerhub):\n%s", diff)
	}
}

// TestHead_EqualsThatOfClientGoForEveryKind fills objects of each kind at random.
func TestHead_EqualsThatOfClientGoForEveryKind(t *testing.T) {
	const seed = 1
	filler := randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 3).MaxDepth(6).Funcs(
		// Values that a server never sends, or that a filler cannot create.
		func(o *runtime.RawExtension, _ randfill.Continue) { o.Raw = []byte(`{"apiVersion":"a","kind":"b"}`) },
		func(o *metav1.FieldsV1, _ randfill.Continue) { *o = metav1.FieldsV1{} },
		func(o *metav1.Time, _ randfill.Continue) {
			o.Time = time.Unix(rand.New(rand.NewSource(seed)).Int63n(1<<31), 0)
		},
	)
	tried := 0
	for kind := range scheme.Scheme.AllKnownTypes() {
		typed, ok := fillObject(t, filler, kind)
		if !ok {
			continue
		}
		tried++
		t.Run(kind.String(), func(t *testing.T) {
			object := decodeOne(t, &Codec{Kind: kind}, testobjects.ProtobufBody(t, typed.(runtime.Object)))
			checkHead(t, object, typed)
		})
	}
	if tried < 150 {
		t.Errorf("tested only %d kinds", tried)
	}
}

// fillObject returns an object of a kind; false if the kind has no metadata and so cannot be
// watched.
func fillObject(t *testing.T, filler *randfill.Filler, kind schema.GroupVersionKind) (metav1.Object, bool) {
	t.Helper()
	if kind.Version == runtime.APIVersionInternal {
		return nil, false
	}
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	field := reflect.ValueOf(object).Elem().FieldByName("ObjectMeta")
	if !field.IsValid() {
		return nil, false
	}
	filler.Fill(field.Addr().Interface())
	accessor, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	accessor.SetName("some-name")
	return accessor, true
}
