package encode

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

func TestObject_UsesTheRequestedEncoding(t *testing.T) {
	pod := objecttest.Pod("a", 3)
	for name, test := range map[string]struct {
		object   *informerhub.Object
		encoding kubeconnectv1.Encoding
		form     any
	}{
		"unspecified is a struct":                {objecttest.PodObject(t, pod), kubeconnectv1.Encoding_ENCODING_UNSPECIFIED, &kubeconnectv1.Object_Struct{}},
		"struct":                                 {objecttest.PodObject(t, pod), kubeconnectv1.Encoding_ENCODING_STRUCT, &kubeconnectv1.Object_Struct{}},
		"JSON":                                   {objecttest.PodObject(t, pod), kubeconnectv1.Encoding_ENCODING_JSON, &kubeconnectv1.Object_Json{}},
		"protobuf":                               {objecttest.PodObject(t, pod), kubeconnectv1.Encoding_ENCODING_PROTOBUF, &kubeconnectv1.Object_Protobuf{}},
		"a custom resource as a struct":          {objecttest.WidgetObject(t, objecttest.WidgetText), kubeconnectv1.Encoding_ENCODING_STRUCT, &kubeconnectv1.Object_Struct{}},
		"a custom resource as JSON":              {objecttest.WidgetObject(t, objecttest.WidgetText), kubeconnectv1.Encoding_ENCODING_JSON, &kubeconnectv1.Object_Json{}},
		"a custom resource has no protobuf form": {objecttest.WidgetObject(t, objecttest.WidgetText), kubeconnectv1.Encoding_ENCODING_PROTOBUF, &kubeconnectv1.Object_Json{}},
	} {
		t.Run(name, func(t *testing.T) {
			encoded := Object(test.object, test.encoding)
			if reflect.TypeOf(encoded.GetContent()) != reflect.TypeOf(test.form) {
				t.Errorf("is sent as %T, want %T", encoded.GetContent(), test.form)
			}
			if encoded.GetNamespace() != "default" || encoded.GetName() != "a" || encoded.GetResourceVersion() != "3" || !strings.HasPrefix(encoded.GetUid(), "u") {
				t.Errorf("the head is %v", encoded)
			}
			checkContent(t, test.object, encoded)
		})
	}
}

// checkContent compares the content of an encoding with the object's JSON.
func checkContent(t *testing.T, object *informerhub.Object, encoded *kubeconnectv1.Object) {
	t.Helper()
	text := encoded.GetJson()
	if content := encoded.GetStruct(); content != nil {
		text = objecttest.JSON(t, content.AsMap())
	}
	if message := encoded.GetProtobuf(); message != nil {
		pod := &corev1.Pod{}
		if err := pod.Unmarshal(message); err != nil {
			t.Fatal(err)
		}
		pod.APIVersion, pod.Kind = "v1", "Pod"
		text = objecttest.JSON(t, pod)
	}
	want, err := object.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted any
	if json.Unmarshal(text, &got) != nil || json.Unmarshal(want, &wanted) != nil || !reflect.DeepEqual(got, wanted) {
		t.Errorf("the content is %s, want %s", text, want)
	}
}

func TestObject_UnreadableObjectsCarryTheirError(t *testing.T) {
	broken := objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":tru}`)
	for _, encoding := range []kubeconnectv1.Encoding{
		kubeconnectv1.Encoding_ENCODING_UNSPECIFIED, kubeconnectv1.Encoding_ENCODING_STRUCT,
		kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	} {
		t.Run(encoding.String(), func(t *testing.T) {
			encoded := Object(broken, encoding)
			if encoded.GetName() != "a" || encoded.GetError().GetReason() != "InternalError" || encoded.GetError().GetMessage() == "" {
				t.Errorf("is sent as %v", encoded)
			}
		})
	}
}

func TestCheck_RejectsUnknownEncodings(t *testing.T) {
	for encoding := range kubeconnectv1.Encoding_name {
		if err := Check(kubeconnectv1.Encoding(encoding)); err != nil {
			t.Errorf("%d: %v", encoding, err)
		}
	}
	for _, encoding := range []kubeconnectv1.Encoding{-1, 99} {
		if err := Check(encoding); err == nil {
			t.Errorf("%d is accepted", encoding)
		}
	}
}

func TestProtobufType_NamesTheMessageOfAKind(t *testing.T) {
	for kind, want := range map[schema.GroupVersionKind]string{
		{Version: "v1", Kind: "Pod"}:                                           "k8s.io.api.core.v1.Pod",
		{Group: "apps", Version: "v1", Kind: "Deployment"}:                     "k8s.io.api.apps.v1.Deployment",
		{Group: "events.k8s.io", Version: "v1", Kind: "Event"}:                 "k8s.io.api.events.v1.Event",
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}:      "k8s.io.api.rbac.v1.Role",
		{Version: "v1", Kind: "Status"}:                                        "k8s.io.apimachinery.pkg.apis.meta.v1.Status",
		{Group: "example.com", Version: "v1", Kind: "Widget"}:                  "",
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: "k8s.io.api.autoscaling.v2.HorizontalPodAutoscaler",
	} {
		if got := protobufType(kind); got != want {
			t.Errorf("%s is named %q, want %q", kind, got, want)
		}
	}
}
