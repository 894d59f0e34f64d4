package object

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// The API server can send the metadata of objects instead of the objects, as meta.k8s.io/v1
// PartialObjectMetadata. In protobuf this is a valid message of any kind with only metadata, and is
// read as such.
const (
	// PartialKind is the kind of an object's metadata.
	PartialKind = "PartialObjectMetadata"
	// PartialListKind is the kind of a list of it.
	PartialListKind = PartialKind + "List"
)

// RequestMetadata makes a request return the metadata of a resource's objects, as
// PartialObjectMetadata or a list of these: kind is [PartialKind] or [PartialListKind].
func RequestMetadata(request *rest.Request, resource Resource, kind string) *rest.Request {
	asPartial := ";as=" + kind + ";g=meta.k8s.io;v=v1"
	accept := []string{runtime.ContentTypeJSON + asPartial, runtime.ContentTypeJSON}
	if resource.BuiltIn() {
		accept = append([]string{runtime.ContentTypeProtobuf + asPartial}, accept...)
	}
	return request.SetHeader("Accept", strings.Join(accept, ","))
}
