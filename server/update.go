package server

import (
	"cmp"
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// Update implements kubeconnect.v1.ResourceService.
func (s *resources) Update(ctx context.Context, request *kubeconnectv1.UpdateRequest) (*kubeconnectv1.UpdateResponse, error) {
	if err := checkEncoding(request.GetEncoding()); err != nil {
		return nil, err
	}
	done, err := onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (answered, error) {
		return s.replace(ctx, resource, request)
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.UpdateResponse{Kind: done.kind, Object: done.object, Warnings: done.warnings, Created: done.created}, nil
}

func (s *resources) replace(ctx context.Context, resource informerhub.Resource, request *kubeconnectv1.UpdateRequest) (answered, error) {
	replaced, err := manifestOf(request.GetBody(), resource)
	if err != nil {
		return answered{}, err
	}
	to, err := replacedAt(resource, request, replaced.head)
	if err != nil {
		return answered{}, err
	}
	if replaced, err = replaced.under(preconditions(request.GetPreconditions())); err != nil {
		return answered{}, err
	}
	options := metav1.UpdateOptions{FieldManager: cmp.Or(request.GetFieldManager(), defaultFieldManager), DryRun: dryRun(request.GetDryRun())}
	if options.FieldValidation, err = fieldValidation(request.GetFieldValidation()); err != nil {
		return answered{}, err
	}
	done, err := s.change(ctx, to, update{replaced, options}, request.GetEncoding())
	return done, asPrecondition(err, to, request.GetPreconditions())
}

// replacedAt returns the target of an update. A name or namespace that is missing in the request is
// taken from the object.
func replacedAt(resource informerhub.Resource, request *kubeconnectv1.UpdateRequest, head head) (target, error) {
	to := whereWritten(resource, request, head)
	if to.name == "" {
		to.name = head.Metadata.Name
	}
	return to, errors.Join(checkName(resource, to.namespace, to.name), checkSubresource(to.subresource))
}
