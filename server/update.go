package server

import (
	"cmp"
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/write"
)

// Update implements kubeconnect.v1.ResourceService.
func (s *resources) Update(ctx context.Context, request *kubeconnectv1.UpdateRequest) (*kubeconnectv1.UpdateResponse, error) {
	if err := encode.Check(request.GetEncoding()); err != nil {
		return nil, err
	}
	done, err := onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (writeResponse, error) {
		return s.replace(ctx, resource, request)
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.UpdateResponse{Resource: done.kind, Object: done.object, Warnings: done.Warnings, Created: done.Created}, nil
}

func (s *resources) replace(ctx context.Context, resource informerhub.Resource, request *kubeconnectv1.UpdateRequest) (writeResponse, error) {
	body, err := manifestOf(request.GetBody(), resource)
	if err != nil {
		return writeResponse{}, err
	}
	dest, err := updateTarget(resource, request, body.Head)
	if err != nil {
		return writeResponse{}, err
	}
	required := preconditions(request.GetPreconditions())
	if body, err = body.WithPreconditions(required); err != nil {
		return writeResponse{}, err
	}
	options := metav1.UpdateOptions{FieldManager: cmp.Or(request.GetFieldManager(), defaultFieldManager), DryRun: dryRun(request.GetDryRun())}
	if options.FieldValidation, err = fieldValidation(request.GetFieldValidation()); err != nil {
		return writeResponse{}, err
	}
	done, err := s.change(ctx, dest, write.Update{Manifest: body, Options: options}, request.GetEncoding())
	return done, write.MapUIDConflict(err, dest, required)
}

// updateTarget returns the target of an update. A name or namespace that is missing in the request
// is taken from the object.
func updateTarget(resource informerhub.Resource, request *kubeconnectv1.UpdateRequest, head write.Head) (write.Target, error) {
	dest := writeTarget(resource, request, head)
	if dest.Name == "" {
		dest.Name = head.Metadata.Name
	}
	return dest, errors.Join(checkName(resource, dest.Namespace, dest.Name), checkSubresource(dest.Subresource))
}
