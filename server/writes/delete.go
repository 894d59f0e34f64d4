package writes

import (
	"context"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// Delete implements kubeconnect.v1.ResourceService.
func (w *Writes) Delete(ctx context.Context, request *kubeconnectv1.DeleteRequest) (*kubeconnectv1.DeleteResponse, error) {
	if err := errors.Join(encode.Check(request.GetEncoding()), checkPreconditions(request.GetPreconditions())); err != nil {
		return nil, err
	}
	options, err := deleteOptions(request)
	if err != nil {
		return nil, err
	}
	options.Preconditions = preconditions(request.GetPreconditions())
	object := objectParams{namespace: request.GetNamespace(), name: request.GetName()}
	var dest change.Target
	done, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (_ writeResponse, err error) {
		dest, err = existingTarget(resource, object)
		if err != nil {
			return writeResponse{}, err
		}
		done, err := w.change(ctx, dest, change.Delete{Options: options}, request.GetEncoding())
		if err == nil && done.kind.GetKind() == "Status" { // the Status only reports success
			done.kind, done.object = encode.Kind(resource), nil
		}
		return done, err
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.DeleteResponse{
		Resource: done.kind, Object: done.object, Warnings: done.Warnings,
		ResourceVersion: w.versionAfter(ctx, dest, request.GetDryRun(), done.object.GetResourceVersion()),
	}, nil
}

// DeleteCollection implements kubeconnect.v1.ResourceService.
func (w *Writes) DeleteCollection(ctx context.Context, request *kubeconnectv1.DeleteCollectionRequest) (*kubeconnectv1.DeleteCollectionResponse, error) {
	options, err := deleteOptions(request)
	if err != nil {
		return nil, err
	}
	matching := metav1.ListOptions{LabelSelector: request.GetLabelSelector(), FieldSelector: request.GetFieldSelector()}
	var dest change.Target
	var warnings []string
	deleted, err := target.OnResource(ctx, w.targets, request.GetResource(), func(resource informerhub.Resource) (deleted int, err error) {
		if err := target.CheckNamespace(resource, request.GetNamespace()); err != nil {
			return 0, err
		}
		dest = change.Target{Resource: resource, Namespace: request.GetNamespace()}
		deleted, warnings, err = w.writer(ctx).DeleteCollection(ctx, dest, change.DeleteCollection{Options: options, Matching: matching})
		return deleted, err
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.DeleteCollectionResponse{
		DeletedCount: int64(deleted), Warnings: warnings,
		// The objects in the response are in their state before the deletion.
		ResourceVersion: w.versionAfter(ctx, dest, request.GetDryRun(), ""),
	}, nil
}

// deletionPatience is the time that a completed deletion waits for its resource version.
const deletionPatience = 3 * time.Second

// versionAfter returns a resource version at which a deletion is visible: the version of the
// object in the API server's response, which is the deletion's own. A Status has no version. Then
// the API server is asked for its version, with the service's permissions if the resource is
// cacheable, because a caller may have the permission to delete without the permission to list. It
// returns an empty string if the version cannot be found, because the deletion has succeeded.
func (w *Writes) versionAfter(ctx context.Context, dest change.Target, dryRun bool, deleted string) string {
	switch {
	case dryRun:
		return ""
	case object.IsVersion(deleted):
		return deleted
	}
	ctx, cancel := context.WithTimeout(ctx, deletionPatience)
	defer cancel()
	clients := []*http.Client{w.clients.For(call.IdentityFrom(ctx)).HTTP}
	if dest.Resource.Cacheable() {
		clients = []*http.Client{nil, clients[0]}
	}
	for _, client := range clients {
		if version, err := w.hub.CurrentVersion(ctx, dest.Resource, dest.Namespace, client); err == nil && object.IsVersion(version) {
			return version
		}
	}
	return ""
}

// deleteRequest is a request that deletes objects.
type deleteRequest interface {
	GetPropagationPolicy() kubeconnectv1.PropagationPolicy
	GetGracePeriodSeconds() int64
	GetDryRun() bool
}

func deleteOptions(request deleteRequest) (metav1.DeleteOptions, error) {
	options := metav1.DeleteOptions{DryRun: dryRun(request.GetDryRun())}
	switch request := request.(type) {
	case *kubeconnectv1.DeleteRequest:
		options.GracePeriodSeconds = request.GracePeriodSeconds
	case *kubeconnectv1.DeleteCollectionRequest:
		options.GracePeriodSeconds = request.GracePeriodSeconds
	}
	if seconds := options.GracePeriodSeconds; seconds != nil && *seconds < 0 {
		return options, apierror.BadRequest("invalid grace_period_seconds %d: give 0 or more", *seconds)
	}
	policy, ok := propagation[request.GetPropagationPolicy()]
	switch {
	case !ok:
		return options, apierror.BadRequest("unknown propagation_policy %d: give ORPHAN, BACKGROUND or FOREGROUND", request.GetPropagationPolicy())
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
