package server

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// partialKind is what an object's metadata is told as, as by the API server.
var partialKind = schema.GroupVersionKind{Group: metav1.GroupName, Version: "v1", Kind: "PartialObjectMetadata"}

const (
	partialProtobufType = "k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata"
	metadataPath        = "metadata"
)

// onlyMetadata leaves of an object what a PartialObjectMetadata has.
var onlyMetadata = func() *mask.Mask {
	only, err := mask.Parse([]string{metadataPath})
	if err != nil {
		panic(err)
	}
	return only.As(partialKind)
}()

// shown is what a request wants of each object.
type shown interface {
	GetFields() []string
	GetMetadataOnly() bool
}

// fieldsOf is what a request wants of each object; nil is all of it.
func fieldsOf(request shown) (*mask.Mask, error) {
	fields, err := mask.Parse(request.GetFields())
	switch {
	case err != nil:
		return nil, badRequest("fields: %v", err)
	case !request.GetMetadataOnly():
		return fields, nil
	case fields == nil:
		return onlyMetadata, nil
	}
	for _, text := range request.GetFields() {
		path, _ := mask.ParsePath(text) // parsed before
		inside := strings.TrimPrefix(path.String(), metadataPath)
		if inside == path.String() || inside != "" && inside[0] != '.' && inside[0] != '[' {
			return nil, badRequest("fields: %q does not lead into the metadata, and metadata_only asks for nothing else", text)
		}
	}
	return fields, nil
}

// shownKind names what the objects of an answer are, if they are of a kind when all of them
// is shown.
func shownKind(request shown, kind *kubeconnectv1.ResourceKind) *kubeconnectv1.ResourceKind {
	if request.GetMetadataOnly() {
		kind.Group, kind.Version, kind.Kind = partialKind.Group, partialKind.Version, partialKind.Kind
		kind.ProtobufType = partialProtobufType
	}
	return kind
}

// readsMetadata reports whether a request looks at nothing but the metadata of objects, so
// that the API server need not send more.
func readsMetadata(request selecting) bool {
	shows, ok := request.(shown)
	ordered, _ := request.(interface{ GetOrderBy() string })
	return ok && shows.GetMetadataOnly() && request.GetFilter() == "" && request.GetRelated() == nil &&
		(ordered == nil || ordered.GetOrderBy() == "")
}
