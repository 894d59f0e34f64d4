package encode

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// partialKind is the kind of an object that is reduced to its metadata, as at the API server.
var partialKind = schema.GroupVersionKind{Group: metav1.GroupName, Version: "v1", Kind: "PartialObjectMetadata"}

const (
	partialProtobufType = "k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata"
	metadataPath        = "metadata"
)

// onlyMetadata is the mask of the fields that a PartialObjectMetadata has.
var onlyMetadata = func() *mask.Mask {
	only, err := mask.Parse([]string{metadataPath})
	if err != nil {
		panic(err)
	}
	return only.As(partialKind)
}()

// Fields returns the mask of the fields that a request selects, or nil for whole objects.
func Fields(paths []string, metadataOnly bool) (*mask.Mask, error) {
	fields, err := mask.Parse(paths)
	switch {
	case err != nil:
		return nil, apierror.BadRequest("fields: %v", err)
	case !metadataOnly:
		return fields, nil
	case fields == nil:
		return onlyMetadata, nil
	}
	for _, text := range paths {
		path, _ := mask.ParsePath(text) // parsed without an error above
		inside := strings.TrimPrefix(path.String(), metadataPath)
		if inside == path.String() || inside != "" && inside[0] != '.' && inside[0] != '[' {
			return nil, apierror.BadRequest("fields: %q is not in the metadata: with metadata_only, give paths in metadata", text)
		}
	}
	return fields, nil
}

// ShownKind returns the kind of the objects in a response. kind is the kind of the whole objects.
func ShownKind(kind *kubeconnectv1.Resource, metadataOnly bool) *kubeconnectv1.Resource {
	if metadataOnly {
		kind.Group, kind.Version, kind.Kind = partialKind.Group, partialKind.Version, partialKind.Kind
		kind.ProtobufType = partialProtobufType
	}
	return kind
}
