package writes

import (
	"cmp"
	"errors"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// createParams are the parsed fields of a request to create an object. The body is parsed later, in a
// processor slot if it is long.
type createParams struct {
	objectParams
	body    any  // see manifestOf
	long    bool // parsing the body takes long
	options metav1.CreateOptions
}

// parseCreate parses a request, but for its body.
func parseCreate(request *kubeconnectv1.CreateRequest) (createParams, error) {
	validation, err := fieldValidation(request.GetFieldValidation())
	return createParams{
		objectParams: objectOf(request),
		body:         request.GetBody(),
		long:         proto.Size(request) > budget.ShortBytes,
		options: metav1.CreateOptions{
			FieldManager: cmp.Or(request.GetFieldManager(), defaultFieldManager), FieldValidation: validation, DryRun: dryRun(request.GetDryRun()),
		},
	}, errors.Join(encode.Check(request.GetEncoding()), err)
}

// createTarget returns the target of a create request. It has a name only if a subresource creates
// the object, as for an eviction or a token.
func createTarget(resource informerhub.Resource, params objectParams, head change.Head) (change.Target, error) {
	dest := writeTarget(resource, params, head)
	switch {
	case dest.Subresource != "":
		return dest, errors.Join(target.CheckName(resource, dest.Namespace, dest.Name), target.CheckSubresource(dest.Subresource))
	case dest.Name != "" && dest.Name != head.Metadata.Name:
		return dest, apierror.BadRequest("name is for subresources only: name the object in its metadata.name")
	}
	dest.Name = "" // the path of a create request names the collection
	return dest, target.CheckNamespace(resource, dest.Namespace)
}

// updateParams are the parsed fields of a request to replace an object.
type updateParams struct {
	objectParams
	body          any                   // see manifestOf
	long          bool                  // parsing the body takes long
	preconditions *metav1.Preconditions // nil for none
	options       metav1.UpdateOptions
}

// parseUpdate parses a request, but for its body.
func parseUpdate(request *kubeconnectv1.UpdateRequest) (updateParams, error) {
	validation, err := fieldValidation(request.GetFieldValidation())
	return updateParams{
		objectParams:  objectOf(request),
		body:          request.GetBody(),
		long:          proto.Size(request) > budget.ShortBytes,
		preconditions: preconditions(request.GetPreconditions()),
		options: metav1.UpdateOptions{
			FieldManager: cmp.Or(request.GetFieldManager(), defaultFieldManager), FieldValidation: validation, DryRun: dryRun(request.GetDryRun()),
		},
	}, errors.Join(encode.Check(request.GetEncoding()), checkPreconditions(request.GetPreconditions()), err)
}

// updateTarget returns the target of an update. A name or namespace that is missing in the request
// is taken from the object. A name that differs from the name in the object is for the API server to reject.
func updateTarget(resource informerhub.Resource, params objectParams, head change.Head) (change.Target, error) {
	dest := writeTarget(resource, params, head)
	if dest.Name == "" {
		dest.Name = head.Metadata.Name
	}
	return dest, errors.Join(target.CheckName(resource, dest.Namespace, dest.Name), target.CheckSubresource(dest.Subresource))
}

// deleteRequest is a request that deletes objects: one object, or a collection.
type deleteRequest interface {
	GetPropagationPolicy() kubeconnectv1.PropagationPolicy
	GetGracePeriodSeconds() int64
	GetDryRun() bool
}

// deleteOptions returns the options of a deletion, without preconditions, which a collection does not have.
func deleteOptions(request deleteRequest) (metav1.DeleteOptions, error) {
	options := metav1.DeleteOptions{DryRun: dryRun(request.GetDryRun())}
	// The field, not its getter: 0 seconds means at once, and a field that is not set means the default of the kind.
	switch request := request.(type) {
	case *kubeconnectv1.DeleteRequest:
		options.GracePeriodSeconds = request.GracePeriodSeconds
	case *kubeconnectv1.DeleteCollectionRequest:
		options.GracePeriodSeconds = request.GracePeriodSeconds
	}
	if seconds := options.GracePeriodSeconds; seconds != nil && *seconds < 0 {
		return options, apierror.BadRequest("invalid grace_period_seconds %d: give 0 or more", *seconds)
	}

	// An unknown policy is an error of the request: it may be a policy that a newer client knows.
	policy, ok := propagation[request.GetPropagationPolicy()]
	switch {
	case !ok:
		return options, apierror.BadRequest("unknown propagation_policy %d: give ORPHAN, BACKGROUND or FOREGROUND", request.GetPropagationPolicy())
	case policy != "":
		options.PropagationPolicy = &policy
	}
	return options, nil
}

// propagation has the policies of deletions. Without a policy the API server uses the default of the kind.
var propagation = map[kubeconnectv1.PropagationPolicy]metav1.DeletionPropagation{
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_UNSPECIFIED: "",
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_ORPHAN:      metav1.DeletePropagationOrphan,
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_BACKGROUND:  metav1.DeletePropagationBackground,
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_FOREGROUND:  metav1.DeletePropagationForeground,
}

// objectParams are the parsed fields of a request that name the object that it changes.
type objectParams struct {
	namespace, name string
	subresource     string // empty for the object itself
}

// objectOf returns the fields of a request that name an object.
func objectOf(request interface {
	GetNamespace() string
	GetName() string
	GetSubresource() string
}) objectParams {
	return objectParams{request.GetNamespace(), request.GetName(), request.GetSubresource()}
}

// existingTarget returns the target of a change to an object that exists, and optionally to one of
// its subresources. Whether the object exists is for the API server to say.
func existingTarget(resource informerhub.Resource, params objectParams) (change.Target, error) {
	dest := change.Target{Resource: resource, Namespace: params.namespace, Name: params.name, Subresource: params.subresource}
	return dest, errors.Join(target.CheckName(dest.Resource, dest.Namespace, dest.Name), target.CheckSubresource(dest.Subresource))
}

// writeTarget returns the target of a change by a whole object. A namespace that is missing in the
// request is taken from the object, but for a cluster-scoped resource, whose path has none.
func writeTarget(resource informerhub.Resource, params objectParams, head change.Head) change.Target {
	dest := change.Target{Resource: resource, Namespace: params.namespace, Name: params.name, Subresource: params.subresource}
	if dest.Namespace == "" && resource.Namespaced {
		dest.Namespace = head.Metadata.Namespace
	}
	return dest
}

// manifestOf parses the body of a request that contains a whole object. Its bytes are forwarded to the API server,
// and only its head is decoded: the name, the namespace and what else a target needs.
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

// dryRun returns the value of the API server's option. All stages of a change are simulated.
func dryRun(requested bool) []string {
	if requested {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// fieldValidation returns the value of the option of the API server. Without a level the API server uses its default.
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
