package object

import (
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
	if resource.BuiltIn() {
		return request.SetHeader("Accept", runtime.ContentTypeProtobuf+asPartial(kind)+","+metadataAsJSON(kind))
	}
	return RequestMetadataAsJSON(request, kind)
}

// RequestMetadataAsJSON is like [RequestMetadata], for a response that is always JSON.
func RequestMetadataAsJSON(request *rest.Request, kind string) *rest.Request {
	return request.SetHeader("Accept", metadataAsJSON(kind))
}

// metadataAsJSON accepts the whole objects too, of an API server that cannot send their metadata alone.
func metadataAsJSON(kind string) string {
	return runtime.ContentTypeJSON + asPartial(kind) + "," + runtime.ContentTypeJSON
}

func asPartial(kind string) string { return ";as=" + kind + ";g=meta.k8s.io;v=v1" }
