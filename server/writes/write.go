package writes

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// Writes has the handlers of the RPCs that change objects. Its methods are safe for concurrent use.
type Writes struct {
	hub     *informerhub.Hub
	targets *target.Resolver
	clients *auth.ClientFactory
}

// New returns the handlers of the RPCs that change objects.
func New(hub *informerhub.Hub, targets *target.Resolver, clients *auth.ClientFactory) *Writes {
	return &Writes{hub: hub, targets: targets, clients: clients}
}

// writer returns a writer that acts as the caller.
func (w *Writes) writer(ctx context.Context) change.Writer {
	return change.Writer{Clients: w.clients.For(call.IdentityFrom(ctx)), Sends: func() { call.NoteSent(ctx) }}
}

// writeResponse is the response to a change.
type writeResponse struct {
	change.Result
	kind   *kubeconnectv1.Resource
	object *kubeconnectv1.Object
}

// change makes a change and encodes the object in the API server's response.
func (w *Writes) change(ctx context.Context, dest change.Target, requested change.Change, encoding kubeconnectv1.Encoding) (writeResponse, error) {
	done, err := w.writer(ctx).Do(ctx, dest, requested)
	if err != nil {
		return writeResponse{}, err
	}
	object, err := object.Read(done.Body)
	if err != nil {
		return writeResponse{}, err
	}
	call.NoteObject(ctx, object.Namespace(), object.Name())
	view := encode.View{Encoding: encoding, Messages: true}
	if err := budget.ReserveWriteResponse(ctx, len(done.Body)+view.Memory([]*informerhub.Object{object})); err != nil {
		return writeResponse{}, err
	}
	encoded, err := budget.EncodeInSlot(ctx, object, encoding)
	return writeResponse{done, encode.KindOf(object, dest.Resource), encoded}, err
}

// objectParams are the parsed fields of a request that name the object that it changes.
type objectParams struct {
	namespace, name string
	subresource     string // empty for the object itself
}

func objectOf(request interface {
	GetNamespace() string
	GetName() string
	GetSubresource() string
}) objectParams {
	return objectParams{request.GetNamespace(), request.GetName(), request.GetSubresource()}
}

// existingTarget returns the target of a change to an object that exists, and optionally to one of
// its subresources.
func existingTarget(resource informerhub.Resource, params objectParams) (change.Target, error) {
	dest := change.Target{Resource: resource, Namespace: params.namespace, Name: params.name, Subresource: params.subresource}
	return dest, errors.Join(target.CheckName(dest.Resource, dest.Namespace, dest.Name), target.CheckSubresource(dest.Subresource))
}

// writeTarget returns the target of a change by a whole object. A namespace that is missing in the
// request is taken from the object.
func writeTarget(resource informerhub.Resource, params objectParams, head change.Head) change.Target {
	dest := change.Target{Resource: resource, Namespace: params.namespace, Name: params.name, Subresource: params.subresource}
	if dest.Namespace == "" && resource.Namespaced {
		dest.Namespace = head.Metadata.Namespace
	}
	return dest
}

// manifestOf parses the body of a request that contains a whole object.
func manifestOf(body any, resource informerhub.Resource) (change.Manifest, error) {
	switch body := body.(type) {
	case *kubeconnectv1.CreateRequest_Struct:
		return change.ParseStruct(body.Struct)
	case *kubeconnectv1.UpdateRequest_Struct:
		return change.ParseStruct(body.Struct)
	case *kubeconnectv1.CreateRequest_Data:
		return change.ParseData(body.Data)
	case *kubeconnectv1.UpdateRequest_Data:
		return change.ParseData(body.Data)
	case *kubeconnectv1.CreateRequest_Protobuf:
		return change.ParseProtobuf(body.Protobuf, resource)
	case *kubeconnectv1.UpdateRequest_Protobuf:
		return change.ParseProtobuf(body.Protobuf, resource)
	}
	return change.Manifest{}, apierror.BadRequest("body is required: give the object as struct (JSON), data (bytes of JSON or YAML) or protobuf")
}

// defaultFieldManager owns the fields of a change whose caller does not name a field manager.
const defaultFieldManager = "kubeconnect"

func dryRun(requested bool) []string {
	if requested {
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

// checkPreconditions rejects a resource version that no object has. The API server would report "AAAA" as an
// internal error, and update and patch an object of any version for "0".
func checkPreconditions(requested *kubeconnectv1.Preconditions) error {
	if version := requested.GetResourceVersion(); version != "" && !object.IsVersion(version) {
		return apierror.BadRequest("preconditions.resource_version is %q, which no object has: give the resource version of a response", version)
	}
	return nil
}

// preconditions returns the preconditions of a request, or nil if there are none.
func preconditions(requested *kubeconnectv1.Preconditions) *metav1.Preconditions {
	var required metav1.Preconditions
	if uid := types.UID(requested.GetUid()); uid != "" {
		required.UID = &uid
	}
	if version := requested.GetResourceVersion(); version != "" {
		required.ResourceVersion = &version
	}
	if required == (metav1.Preconditions{}) {
		return nil
	}
	return &required
}
