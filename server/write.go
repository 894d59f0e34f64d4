package server

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// writer returns a writer that acts as the caller.
func (s *resources) writer(ctx context.Context) writer {
	return writer{s.clients.For(identityFrom(ctx))}
}

// writeResponse is the response to a change.
type writeResponse struct {
	writeResult
	kind   *kubeconnectv1.ResourceKind
	object *kubeconnectv1.Object
}

// change makes a change and encodes the object in the API server's response.
func (s *resources) change(ctx context.Context, dest target, change change, encoding kubeconnectv1.Encoding) (writeResponse, error) {
	done, err := s.writer(ctx).make(ctx, dest, change)
	if err != nil {
		return writeResponse{}, err
	}
	object, err := object.Read(done.body)
	if err != nil {
		return writeResponse{}, err
	}
	view := encode.View{Encoding: encoding, Messages: true}
	if err := reserveWriteResponse(ctx, len(done.body)+view.Memory([]*informerhub.Object{object})); err != nil {
		return writeResponse{}, err
	}
	encoded, err := encodeInSlot(ctx, object, encoding)
	return writeResponse{done, encode.KindOf(object, dest.resource), encoded}, err
}

// objectRequest is a request about one object.
type objectRequest interface {
	GetResource() string
	GetNamespace() string
	GetName() string
}

// existingTarget returns the target of a request that names an object, and optionally a
// subresource.
func existingTarget(resource informerhub.Resource, request objectRequest) (target, error) {
	dest := target{resource: resource, namespace: request.GetNamespace(), name: request.GetName()}
	if part, ok := request.(interface{ GetSubresource() string }); ok {
		dest.subresource = part.GetSubresource()
	}
	return dest, errors.Join(checkName(dest.resource, dest.namespace, dest.name), checkSubresource(dest.subresource))
}

// writeTarget returns the target of a request that contains a whole object. A namespace that is
// missing in the request is taken from the object.
func writeTarget(resource informerhub.Resource, request interface {
	objectRequest
	GetSubresource() string
}, head head) target {
	dest := target{resource: resource, namespace: request.GetNamespace(), name: request.GetName(), subresource: request.GetSubresource()}
	if dest.namespace == "" && resource.Namespaced {
		dest.namespace = head.Metadata.Namespace
	}
	return dest
}

// manifestOf parses the body of a request that contains a whole object.
func manifestOf(body any, resource informerhub.Resource) (manifest, error) {
	switch body := body.(type) {
	case *kubeconnectv1.CreateRequest_Struct:
		return manifestOfStruct(body.Struct)
	case *kubeconnectv1.UpdateRequest_Struct:
		return manifestOfStruct(body.Struct)
	case *kubeconnectv1.CreateRequest_Data:
		return manifestOfData(body.Data)
	case *kubeconnectv1.UpdateRequest_Data:
		return manifestOfData(body.Data)
	case *kubeconnectv1.CreateRequest_Protobuf:
		return manifestOfProtobuf(body.Protobuf, resource)
	case *kubeconnectv1.UpdateRequest_Protobuf:
		return manifestOfProtobuf(body.Protobuf, resource)
	}
	return manifest{}, apierror.BadRequest("body is required: give the object as struct (JSON), data (bytes of JSON or YAML) or protobuf")
}

// defaultFieldManager owns the fields of a change whose caller does not name a field manager.
const defaultFieldManager = "kubeconnect"

func dryRun(asked bool) []string {
	if asked {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func fieldValidation(level kubeconnectv1.FieldValidation) (string, error) {
	switch level {
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_UNSPECIFIED:
		return "", nil
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_IGNORE:
		return metav1.FieldValidationIgnore, nil
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_WARN:
		return metav1.FieldValidationWarn, nil
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_STRICT:
		return metav1.FieldValidationStrict, nil
	}
	return "", apierror.BadRequest("unknown field_validation %d: give IGNORE, WARN or STRICT", level)
}
