package e2e_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// encodings maps the name of a content to the encoding that a client requests for it.
var encodings = map[string]kubeconnectv1.Encoding{
	"struct":   kubeconnectv1.Encoding_ENCODING_STRUCT,
	"json":     kubeconnectv1.Encoding_ENCODING_JSON,
	"protobuf": kubeconnectv1.Encoding_ENCODING_PROTOBUF,
}

func TestEncoding_BuiltInObjectsAreComplete(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		want := createUnscheduledPod(ctx, t, namespace, "one")
		untilRead(ctx, t, client, "pods", want)
		want.ManagedFields = nil
		for content, encoding := range encodings {
			t.Run(content, func(t *testing.T) {
				answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
					Resource: "pods", Namespace: namespace, Name: "one", Encoding: encoding,
				})
				if err != nil {
					t.Fatal(err)
				}
				wantHead(t, answer.GetObject(), want)
				got := new(corev1.Pod)
				decode(t, answer.GetObject(), content, got)
				if got.TypeMeta = (metav1.TypeMeta{}); !apiequality.Semantic.DeepEqual(got, want) {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		}
	})
}

func TestEncoding_CustomResourcesFallBackToJSON(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	want := gadgets.create("v1", namespace, "one", map[string]any{"color": "red", "size": 1.5, "count": int64(7)})
	want.SetManagedFields(nil)
	untilRead(ctx, t, client, gadgets.name(), want)
	for requested, expected := range map[string]string{"struct": "struct", "json": "json", "protobuf": "json"} {
		t.Run(requested, func(t *testing.T) {
			answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
				Resource: gadgets.name(), Namespace: namespace, Name: "one", Encoding: encodings[requested],
			})
			if err != nil {
				t.Fatal(err)
			}
			wantHead(t, answer.GetObject(), want)
			if answer.GetKind().GetProtobufType() != "" {
				t.Errorf("protobuf type of the kind %q", answer.GetKind().GetProtobufType())
			}
			got := want.NewEmptyInstance()
			decode(t, answer.GetObject(), expected, got)
			if !apiequality.Semantic.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

// wantHead checks the fields of an object outside its content.
func wantHead(t *testing.T, object *kubeconnectv1.Object, want metav1.Object) {
	t.Helper()
	if object.GetNamespace() != want.GetNamespace() || object.GetName() != want.GetName() ||
		object.GetUid() != string(want.GetUID()) || object.GetResourceVersion() != want.GetResourceVersion() {
		t.Errorf("object %s/%s, UID %s, version %s; want %s/%s, %s, %s",
			object.GetNamespace(), object.GetName(), object.GetUid(), object.GetResourceVersion(),
			want.GetNamespace(), want.GetName(), want.GetUID(), want.GetResourceVersion())
	}
}

// decode decodes the content of an object, which must have a given encoding, into a Kubernetes
// type.
func decode(t *testing.T, object *kubeconnectv1.Object, content string, into any) {
	t.Helper()
	var err error
	switch carried := object.GetContent().(type) {
	case *kubeconnectv1.Object_Struct:
		wantContent(t, content, "struct")
		var text []byte
		if text, err = carried.Struct.MarshalJSON(); err == nil {
			err = json.Unmarshal(text, into)
		}
	case *kubeconnectv1.Object_Json:
		wantContent(t, content, "json")
		err = json.Unmarshal(carried.Json, into)
	case *kubeconnectv1.Object_Protobuf:
		wantContent(t, content, "protobuf")
		err = into.(interface{ Unmarshal([]byte) error }).Unmarshal(carried.Protobuf)
	default:
		t.Fatalf("content of type %T", carried)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, want, got string) {
	t.Helper()
	if got != want {
		t.Fatalf("content %s, want %s", got, want)
	}
}
