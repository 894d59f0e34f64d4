package encode

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// TestBytes_BytesMatchTheMessage compares the two ways to encode an object.
func TestBytes_BytesMatchTheMessage(t *testing.T) {
	odd := objecttest.Pod("odd", 4)
	odd.Annotations = map[string]string{"a": "<b>\"\xff\u2028", "": ""}
	odd.Spec.Containers = []corev1.Container{{Name: "c", Args: []string{"", "x"}}, {}}
	for name, object := range map[string]*informerhub.Object{
		"a pod":                       objecttest.PodObject(t, objecttest.Pod("a", 3)),
		"a pod with odd strings":      objecttest.PodObject(t, odd),
		"a custom resource":           objecttest.WidgetObject(t, objecttest.WidgetText),
		"a number that no struct has": objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":1e999}`),
		"JSON that cannot be read":    objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":nul}`),
		"a pod that ends too early":   objecttest.ProtobufObject(t, "Pod", "\x0a\x03\x0a\x01a\x12\x05"),
		"protobuf of an unknown kind": objecttest.ProtobufObject(t, "Widget", "\x0a\x03\x0a\x01a"),
	} {
		for number, encoding := range kubeconnectv1.Encoding_name {
			t.Run(name+" as "+encoding, func(t *testing.T) {
				var got kubeconnectv1.Object
				if err := proto.Unmarshal(Bytes(object, kubeconnectv1.Encoding(number)), &got); err != nil {
					t.Fatal(err)
				}
				if want := messageOf(object, kubeconnectv1.Encoding(number)); !proto.Equal(&got, want) {
					t.Errorf("the bytes are\n%v, the message\n%v", &got, want)
				}
				if made := Object(object, kubeconnectv1.Encoding(number)); !proto.Equal(&got, made) {
					t.Errorf("the bytes are\n%v, the message is made as\n%v", &got, made)
				}
			})
		}
	}
}

// messageOf returns the message of an object that can be sent completely, encoded by way of a map.
func messageOf(object *informerhub.Object, encoding kubeconnectv1.Encoding) *kubeconnectv1.Object {
	made := &kubeconnectv1.Object{
		Namespace: object.Namespace(), Name: object.Name(), Uid: object.UID(), ResourceVersion: object.ResourceVersion(),
	}
	message, hasMessage := object.Protobuf()
	text, err := object.JSON()
	content, structErr := readStruct(text)
	switch {
	case encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF && hasMessage:
		made.Content = &kubeconnectv1.Object_Protobuf{Protobuf: message}
	case err != nil:
		made.Content = &kubeconnectv1.Object_Error{Error: &kubeconnectv1.Status{Reason: "InternalError", Message: err.Error(), Code: 500}}
	case OrDefault(encoding) == kubeconnectv1.Encoding_ENCODING_STRUCT && structErr == nil:
		made.Content = &kubeconnectv1.Object_Struct{Struct: content}
	default:
		made.Content = &kubeconnectv1.Object_Json{Json: text}
	}
	return made
}

// largeWidget returns a custom resource with a member "spec".
func largeWidget(t *testing.T, spec string) *informerhub.Object {
	t.Helper()
	return objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default"},"spec":`+spec+`}`)
}

// worst are objects of the API server's maximum size, or larger, with the expected form for each
// requested encoding: empty if no form fits.
func worst(t *testing.T) map[string]struct {
	object                    *informerhub.Object
	asStruct, asJSON, asProto string
} {
	const bytes = 1_400_000
	escaped := objecttest.Pod("a", 3)
	escaped.Annotations = map[string]string{"a": strings.Repeat("\x01", bytes)}
	unsendable := objecttest.Pod("a", 3)
	unsendable.Annotations = map[string]string{"a": strings.Repeat("\x01", MaxObjectBytes)}
	numbers := objecttest.Pod("a", 3)
	numbers.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroups: make([]int64, bytes/2)}
	keys := make([]string, bytes/len(`"abc":1,`))
	for i := range keys {
		keys[i] = fmt.Sprintf(`"%c%c%c":1`, 'a'+i%64, 'a'+i/64%64, 'a'+i/64/64)
	}
	type row = struct {
		object                    *informerhub.Object
		asStruct, asJSON, asProto string
	}
	return map[string]row{
		"a small object":               {largeWidget(t, "{}"), "struct", "json", "json"},
		"one string":                   {largeWidget(t, `"`+strings.Repeat("é", bytes/2)+`"`), "struct", "json", "json"},
		"many numbers":                 {largeWidget(t, "["+strings.Repeat("1,", bytes/2)+"1]"), "json", "json", "json"},
		"many keys":                    {largeWidget(t, "{"+strings.Join(keys, ",")+"}"), "json", "json", "json"},
		"many empty objects":           {largeWidget(t, "["+strings.Repeat("{},", bytes/3)+"1]"), "struct", "json", "json"},
		"many deep lists":              {largeWidget(t, "["+strings.Repeat("[[[[1]]]],", bytes/10)+"1]"), "json", "json", "json"},
		"deep objects":                 {largeWidget(t, strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat("}", 1000)), "json", "json", "json"},
		"more than etcd takes":         {largeWidget(t, `"`+strings.Repeat("x", MaxObjectBytes)+`"`), "", "", ""},
		"characters that JSON escapes": {objecttest.PodObject(t, escaped), "struct", "", "protobuf"},
		"many numbers of a pod":        {objecttest.PodObject(t, numbers), "json", "json", "protobuf"},
		"a message that is too long":   {objecttest.PodObject(t, unsendable), "", "", ""},
	}
}

// TestBytes_LargeObjectsUseAnotherEncoding verifies that each message is within gRPC's
// limit. In the JSON form of a message a Struct has no bound: see MaxObjectBytes.
func TestBytes_LargeObjectsUseAnotherEncoding(t *testing.T) {
	const grpcLimit, envelope = 4 << 20, 64 << 10
	for name, test := range worst(t) {
		for encoding, want := range map[kubeconnectv1.Encoding]string{
			kubeconnectv1.Encoding_ENCODING_STRUCT:   test.asStruct,
			kubeconnectv1.Encoding_ENCODING_JSON:     test.asJSON,
			kubeconnectv1.Encoding_ENCODING_PROTOBUF: test.asProto,
		} {
			t.Run(name+" as "+encoding.String(), func(t *testing.T) {
				encoded := Bytes(test.object, encoding)
				if len(encoded) > grpcLimit-envelope {
					t.Errorf("the message has %d bytes", len(encoded))
				}
				wantForm(t, encoded, want)
				page, ok := AppendListed(nil, test.object, nil, View{Encoding: encoding}, math.MaxInt)
				if !ok || len(page) > len(encoded)+8 {
					t.Errorf("a page of it has %d bytes", len(page))
				}
				fields, err := mask.Parse([]string{"metadata", "spec"})
				if err != nil {
					t.Fatal(err)
				}
				if page, _ := AppendListed(nil, test.object, nil, View{Encoding: encoding, Fields: fields}, math.MaxInt); len(page) > grpcLimit-envelope {
					t.Errorf("a page of some fields has %d bytes", len(page))
				}
				if want == "struct" {
					return
				}
				if text, err := protojson.Marshal(Object(test.object, encoding)); err != nil || len(text) > grpcLimit-envelope {
					t.Errorf("the JSON form has %d bytes (%v)", len(text), err)
				}
			})
		}
	}
}

// wantForm fails unless the content of an object has a form, or is the error that it is too large.
func wantForm(t *testing.T, encoded []byte, want string) {
	t.Helper()
	var object kubeconnectv1.Object
	if err := proto.Unmarshal(encoded, &object); err != nil {
		t.Fatal(err)
	}
	if object.GetName() != "a" || object.GetNamespace() != "default" {
		t.Errorf("the head is %s/%s", object.GetNamespace(), object.GetName())
	}
	content := object.ProtoReflect().WhichOneof(object.ProtoReflect().Descriptor().Oneofs().ByName("content"))
	if want == "" {
		if object.GetError().GetReason() != string(metav1.StatusReasonRequestEntityTooLarge) || !strings.Contains(object.GetError().GetMessage(), "bytes") {
			t.Errorf("is sent as %s, want an error: %.200v", content.Name(), object.GetError())
		}
		return
	}
	if string(content.Name()) != want {
		t.Errorf("is sent as %s, want %s: %v", content.Name(), want, object.GetError())
	}
}

// TestEvents_PatchesObjectsThatWereSent creates patches of objects that are too large or too deep in
// one of their forms. A patch has the form in which the object before and after it is sent.
func TestEvents_PatchesObjectsThatWereSent(t *testing.T) {
	const struct_, json = kubeconnectv1.Encoding_ENCODING_STRUCT, kubeconnectv1.Encoding_ENCODING_JSON
	const merge = kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE
	numbers := func(count int) string { return "[" + strings.Repeat("1,", count) + "1]" }
	text := func(bytes int) string { return `"` + strings.Repeat("x", bytes) + `"` }
	spec := func(big, small string) string {
		return `{"big":` + big + `,"small":` + small + `,"more":` + text(1_000_000) + `}`
	}
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for name, test := range map[string]struct {
		before, after string
		encoding      kubeconnectv1.Encoding
		form          string // of the patch; empty if the whole object is sent
	}{
		"a small change of a large Struct":         {spec("1", "1"), spec("1", "2"), struct_, "struct"},
		"a small change of what comes as JSON":     {spec(numbers(500_000), "1"), spec(numbers(500_000), "2"), struct_, "json"},
		"a small change of what is too deep":       {spec(deep, "1"), spec(deep, "2"), struct_, "json"},
		"a Struct that becomes JSON":               {spec("1", "1"), spec(deep, "1"), struct_, ""},
		"JSON that becomes a Struct":               {spec(deep, "1"), spec("1", "1"), struct_, ""},
		"a patch that is too large for a Struct":   {spec("1", "1"), spec(numbers(300_000), "1"), struct_, ""},
		"the same as JSON":                         {spec("1", "1"), spec(numbers(300_000), "1"), json, "json"},
		"a small change of what comes as an error": {spec(text(MaxObjectBytes), "1"), spec(text(MaxObjectBytes), "2"), json, ""},
		"a change from what came as an error":      {spec(text(MaxObjectBytes), "1"), spec("1", "2"), json, ""},
	} {
		t.Run(name, func(t *testing.T) {
			event := informerhub.Event{Type: informerhub.Modified, Before: largeWidget(t, test.before), Object: largeWidget(t, test.after)}
			encoded, patch := Events{Encoding: test.encoding, Patches: merge}.object(event)
			if patched := patch == merge; patched != (test.form != "") {
				t.Errorf("is sent as a patch: %t", patched)
			}
			if test.form != "" {
				wantForm(t, encoded, test.form)
				wantForm(t, Bytes(event.Before, test.encoding), test.form)
			}
			if len(encoded) > MaxObjectBytes+objectHeadBytes {
				t.Errorf("the message has %d bytes", len(encoded))
			}
		})
	}
}
