package server

import (
	"cmp"
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/write"
)

// Create implements kubeconnect.v1.ResourceService.
func (s *resources) Create(ctx context.Context, request *kubeconnectv1.CreateRequest) (*kubeconnectv1.CreateResponse, error) {
	if err := encode.Check(request.GetEncoding()); err != nil {
		return nil, err
	}
	done, err := onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (writeResponse, error) {
		return s.create(ctx, resource, request)
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.CreateResponse{Resource: done.kind, Object: done.object, Warnings: done.Warnings}, nil
}

func (s *resources) create(ctx context.Context, resource informerhub.Resource, request *kubeconnectv1.CreateRequest) (writeResponse, error) {
	body, err := manifestOf(request.GetBody(), resource)
	if err != nil {
		return writeResponse{}, err
	}
	dest, err := createTarget(resource, request, body.Head)
	if err != nil {
		return writeResponse{}, err
	}
	options := metav1.CreateOptions{FieldManager: cmp.Or(request.GetFieldManager(), defaultFieldManager), DryRun: dryRun(request.GetDryRun())}
	if options.FieldValidation, err = fieldValidation(request.GetFieldValidation()); err != nil {
		return writeResponse{}, err
	}
	return s.change(ctx, dest, write.Create{Manifest: body, Options: options}, request.GetEncoding())
}

// createTarget returns the target of a create request. It has a name only if a subresource creates
// the object.
func createTarget(resource informerhub.Resource, request *kubeconnectv1.CreateRequest, head write.Head) (write.Target, error) {
	dest := writeTarget(resource, request, head)
	switch {
	case dest.Subresource != "":
		return dest, errors.Join(checkName(resource, dest.Namespace, dest.Name), checkSubresource(dest.Subresource))
	case dest.Name != "" && dest.Name != head.Metadata.Name:
		return dest, apierror.BadRequest("name is for subresources only: name the object in its metadata.name")
	}
	dest.Name = ""
	return dest, checkNamespace(resource, dest.Namespace)
}
