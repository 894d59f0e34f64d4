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
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// createParams are the parsed fields of a request to create an object.
type createParams struct {
	objectParams
	body    any  // see manifestOf
	long    bool // parsing the body takes long
	options metav1.CreateOptions
}

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

// Create implements kubeconnect.v1.ResourceService.
func (w *Writes) Create(ctx context.Context, request *kubeconnectv1.CreateRequest) (*kubeconnectv1.CreateResponse, error) {
	params, err := parseCreate(request)
	if err != nil {
		return nil, err
	}
	done, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (writeResponse, error) {
		manifest, err := budget.InSlotIf(ctx, params.long, func(context.Context) (change.Manifest, error) { return manifestOf(params.body, resource) })
		if err != nil {
			return writeResponse{}, err
		}
		call.NoteObject(ctx, manifest.Head.Metadata.Namespace, manifest.Head.Metadata.Name)
		target, err := createTarget(resource, params.objectParams, manifest.Head)
		if err != nil {
			return writeResponse{}, err
		}
		return w.change(ctx, target, change.Create{Manifest: manifest, Options: params.options}, request.GetEncoding())
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.CreateResponse{Resource: done.kind, Object: done.object, Warnings: done.Warnings}, nil
}

// createTarget returns the target of a create request. It has a name only if a subresource creates
// the object.
func createTarget(resource informerhub.Resource, params objectParams, head change.Head) (change.Target, error) {
	dest := writeTarget(resource, params, head)
	switch {
	case dest.Subresource != "":
		return dest, errors.Join(target.CheckName(resource, dest.Namespace, dest.Name), target.CheckSubresource(dest.Subresource))
	case dest.Name != "" && dest.Name != head.Metadata.Name:
		return dest, apierror.BadRequest("name is for subresources only: name the object in its metadata.name")
	}
	dest.Name = ""
	return dest, target.CheckNamespace(resource, dest.Namespace)
}
