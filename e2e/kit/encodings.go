package kit

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Encodings maps the name of a content to the encoding that a client requests for it.
var Encodings = map[string]kubeconnectv1.Encoding{
	"struct":   kubeconnectv1.Encoding_ENCODING_STRUCT,
	"json":     kubeconnectv1.Encoding_ENCODING_JSON,
	"protobuf": kubeconnectv1.Encoding_ENCODING_PROTOBUF,
}

// WantHead checks the fields of an object outside its content.
func WantHead(t *testing.T, object *kubeconnectv1.Object, want metav1.Object) {
	t.Helper()
	if object.GetNamespace() != want.GetNamespace() || object.GetName() != want.GetName() ||
		object.GetUid() != string(want.GetUID()) || object.GetResourceVersion() != want.GetResourceVersion() {
		t.Errorf("object %s/%s, UID %s, version %s; want %s/%s, %s, %s",
			object.GetNamespace(), object.GetName(), object.GetUid(), object.GetResourceVersion(),
			want.GetNamespace(), want.GetName(), want.GetUID(), want.GetResourceVersion())
	}
}

// Decode decodes the content of an object, which must have a given encoding, into a Kubernetes
// type.
func Decode(t *testing.T, object *kubeconnectv1.Object, content string, into any) {
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
