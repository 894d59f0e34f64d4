package encode

import (
	"cmp"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Object returns the message of an object: the one whose bytes [Bytes] returns. If the content
// cannot be sent, the message contains an error in its place.
func Object(object *informerhub.Object, encoding kubeconnectv1.Encoding) *kubeconnectv1.Object {
	encoded := new(kubeconnectv1.Object)
	_ = proto.Unmarshal(Bytes(object, encoding), encoded) // never fails: the bytes were encoded here
	return encoded
}

// Freshness returns the message of the freshness of objects.
func Freshness(freshness informerhub.Freshness) *kubeconnectv1.Freshness {
	return &kubeconnectv1.Freshness{
		Stale:           freshness.Stale,
		LastContactTime: timestamppb.New(freshness.LastContact),
	}
}

// OrDefault returns the encoding that is used for a requested one: STRUCT if none is requested.
func OrDefault(encoding kubeconnectv1.Encoding) kubeconnectv1.Encoding {
	return cmp.Or(encoding, kubeconnectv1.Encoding_ENCODING_STRUCT)
}

// Check rejects an unknown encoding.
func Check(encoding kubeconnectv1.Encoding) error {
	if _, ok := kubeconnectv1.Encoding_name[int32(encoding)]; !ok {
		return apierror.BadRequest("unknown encoding %d: give STRUCT, JSON or PROTOBUF", encoding)
	}
	return nil
}

// Kind returns the kind of the objects in a response.
func Kind(resource informerhub.Resource) *kubeconnectv1.Resource {
	return &kubeconnectv1.Resource{
		Group:        resource.Group,
		Version:      resource.Version,
		Kind:         resource.Kind,
		Plural:       resource.Name,
		Namespaced:   resource.Namespaced,
		ProtobufType: protobufType(resource.GroupVersionKind()),
	}
}

// KindOf returns the kind of a response: usually the resource's own kind, but a subresource may
// return another one.
func KindOf(object *informerhub.Object, resource informerhub.Resource) *kubeconnectv1.Resource {
	kind := Kind(resource)
	answered := object.Kind()
	kind.Group, kind.Version, kind.Kind = answered.Group, answered.Version, answered.Kind
	kind.ProtobufType = protobufType(answered)
	return kind
}

// protobufType returns the name of a kind's message. The .proto files of k8s.io/api name their
// packages after their folders.
func protobufType(kind schema.GroupVersionKind) string {
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return ""
	}
	goType := reflect.TypeOf(object).Elem()
	return strings.NewReplacer("/", ".", "-", "_").Replace(goType.PkgPath()) + "." + goType.Name()
}
