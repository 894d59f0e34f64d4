package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// encodeObject makes the answer's form of an object. One whose content cannot be
// read carries the error in its place.
func encodeObject(object *informerhub.Object, encoding kubeconnectv1.Encoding) *kubeconnectv1.Object {
	encoded := &kubeconnectv1.Object{
		Namespace:       object.Namespace(),
		Name:            object.Name(),
		Uid:             object.UID(),
		ResourceVersion: object.ResourceVersion(),
	}
	if !object.HasContent() {
		return encoded
	}
	if err := setContent(encoded, object, encoding); err != nil {
		encoded.Content = &kubeconnectv1.Object_Error{Error: ownStatus(metav1.StatusReasonInternalError, err)}
	}
	return encoded
}

func setContent(encoded *kubeconnectv1.Object, object *informerhub.Object, encoding kubeconnectv1.Encoding) error {
	if encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF {
		if message, ok := object.Protobuf(); ok {
			encoded.Content = &kubeconnectv1.Object_Protobuf{Protobuf: message}
			return nil
		}
		encoding = kubeconnectv1.Encoding_ENCODING_JSON
	}
	text, err := object.JSON()
	if err != nil {
		return err
	}
	if encoding == kubeconnectv1.Encoding_ENCODING_JSON {
		encoded.Content = &kubeconnectv1.Object_Json{Json: text}
		return nil
	}
	content, err := readStruct(text)
	if err != nil {
		return fmt.Errorf("%s as a struct: %w", object.Kind().Kind, err)
	}
	encoded.Content = &kubeconnectv1.Object_Struct{Struct: content}
	return nil
}

func readStruct(text []byte) (*structpb.Struct, error) {
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	return structpb.NewStruct(members)
}

func encodeFreshness(freshness informerhub.Freshness) *kubeconnectv1.Freshness {
	return &kubeconnectv1.Freshness{
		Stale:       freshness.Stale,
		LastContact: timestamppb.New(freshness.LastContact),
	}
}

func orDefault(encoding kubeconnectv1.Encoding) kubeconnectv1.Encoding {
	return cmp.Or(encoding, kubeconnectv1.Encoding_ENCODING_STRUCT)
}

func checkEncoding(encoding kubeconnectv1.Encoding) error {
	if _, ok := kubeconnectv1.Encoding_name[int32(encoding)]; !ok {
		return badRequest("encoding %d: this service knows STRUCT, JSON and PROTOBUF", encoding)
	}
	return nil
}

// encodeKind names what the objects of an answer are.
func encodeKind(resource informerhub.Resource) *kubeconnectv1.ResourceKind {
	return &kubeconnectv1.ResourceKind{
		Group:        resource.Group,
		Version:      resource.Version,
		Kind:         resource.Kind,
		Resource:     resource.Name,
		Namespaced:   resource.Namespaced,
		ProtobufType: protobufType(resource.GroupVersionKind()),
	}
}

// protobufType is the name of a kind's message: the .proto files of k8s.io/api
// name their packages after the folders that they lie in.
func protobufType(kind schema.GroupVersionKind) string {
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return ""
	}
	goType := reflect.TypeOf(object).Elem()
	return strings.NewReplacer("/", ".", "-", "_").Replace(goType.PkgPath()) + "." + goType.Name()
}
