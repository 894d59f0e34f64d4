package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// Delete implements kubeconnect.v1.ResourceService.
func (s *resources) Delete(ctx context.Context, request *kubeconnectv1.DeleteRequest) (*kubeconnectv1.DeleteResponse, error) {
	if err := checkEncoding(request.GetEncoding()); err != nil {
		return nil, err
	}
	options, err := deleteOptions(request)
	if err != nil {
		return nil, err
	}
	options.Preconditions = preconditions(request.GetPreconditions())
	done, err := onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (answered, error) {
		to, err := existing(resource, request)
		if err != nil {
			return answered{}, err
		}
		done, err := s.change(ctx, to, deletion{options}, request.GetEncoding())
		if err == nil && done.kind.GetKind() == "Status" { // it says no more than that all went well
			done.kind, done.object = encodeKind(resource), nil
		}
		return done, err
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.DeleteResponse{Kind: done.kind, Object: done.object, Warnings: done.warnings}, nil
}

// DeleteCollection implements kubeconnect.v1.ResourceService.
func (s *resources) DeleteCollection(ctx context.Context, request *kubeconnectv1.DeleteCollectionRequest) (*kubeconnectv1.DeleteCollectionResponse, error) {
	options, err := deleteOptions(request)
	if err != nil {
		return nil, err
	}
	matching := metav1.ListOptions{LabelSelector: request.GetLabelSelector(), FieldSelector: request.GetFieldSelector()}
	done, err := onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (written, error) {
		if err := checkNamespace(resource, request.GetNamespace()); err != nil {
			return written{}, err
		}
		to := target{resource: resource, namespace: request.GetNamespace()}
		return s.writer(ctx).make(ctx, to, clearing{options, matching})
	})
	if err != nil {
		return nil, err
	}
	deleted, err := informerhub.CountItems(done.body)
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.DeleteCollectionResponse{Deleted: int64(deleted), Warnings: done.warnings}, nil
}

// deleting is a request that deletes.
type deleting interface {
	GetPropagationPolicy() kubeconnectv1.PropagationPolicy
	GetGracePeriodSeconds() int64
	GetDryRun() bool
}

func deleteOptions(request deleting) (metav1.DeleteOptions, error) {
	options := metav1.DeleteOptions{DryRun: dryRun(request.GetDryRun())}
	switch request := request.(type) {
	case *kubeconnectv1.DeleteRequest:
		options.GracePeriodSeconds = request.GracePeriodSeconds
	case *kubeconnectv1.DeleteCollectionRequest:
		options.GracePeriodSeconds = request.GracePeriodSeconds
	}
	if seconds := options.GracePeriodSeconds; seconds != nil && *seconds < 0 {
		return options, badRequest("grace_period_seconds %d: give 0 or more", *seconds)
	}
	policy, ok := propagation[request.GetPropagationPolicy()]
	switch {
	case !ok:
		return options, badRequest("propagation_policy %d: this service knows ORPHAN, BACKGROUND and FOREGROUND", request.GetPropagationPolicy())
	case policy != "":
		options.PropagationPolicy = &policy
	}
	return options, nil
}

var propagation = map[kubeconnectv1.PropagationPolicy]metav1.DeletionPropagation{
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_UNSPECIFIED: "",
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_ORPHAN:      metav1.DeletePropagationOrphan,
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_BACKGROUND:  metav1.DeletePropagationBackground,
	kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_FOREGROUND:  metav1.DeletePropagationForeground,
}
