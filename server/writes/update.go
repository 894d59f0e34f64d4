package writes

import (
	"cmp"
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// updateParams are the parsed fields of a request to replace an object.
type updateParams struct {
	objectParams
	body          any  // see manifestOf
	long          bool // parsing the body takes long
	preconditions *metav1.Preconditions
	options       metav1.UpdateOptions
}

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

// Update implements kubeconnect.v1.ResourceService.
func (w *Writes) Update(ctx context.Context, request *kubeconnectv1.UpdateRequest) (*kubeconnectv1.UpdateResponse, error) {
	params, err := parseUpdate(request)
	if err != nil {
		return nil, err
	}
	done, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (writeResponse, error) {
		manifest, err := budget.InSlotIf(ctx, params.long, func(context.Context) (change.Manifest, error) { return manifestOf(params.body, resource) })
		if err != nil {
			return writeResponse{}, err
		}
		call.NoteObject(ctx, manifest.Head.Metadata.Namespace, manifest.Head.Metadata.Name)
		target, err := updateTarget(resource, params.objectParams, manifest.Head)
		if err != nil {
			return writeResponse{}, err
		}
		if manifest, err = manifest.WithPreconditions(params.preconditions); err != nil {
			return writeResponse{}, err
		}
		done, err := w.change(ctx, target, change.Update{Manifest: manifest, Options: params.options}, request.GetEncoding())
		return done, change.MapUIDConflict(err, target, params.preconditions)
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.UpdateResponse{Resource: done.kind, Object: done.object, Warnings: done.Warnings, Created: done.Created}, nil
}

// updateTarget returns the target of an update. A name or namespace that is missing in the request
// is taken from the object.
func updateTarget(resource informerhub.Resource, params objectParams, head change.Head) (change.Target, error) {
	dest := writeTarget(resource, params, head)
	if dest.Name == "" {
		dest.Name = head.Metadata.Name
	}
	return dest, errors.Join(target.CheckName(resource, dest.Namespace, dest.Name), target.CheckSubresource(dest.Subresource))
}
