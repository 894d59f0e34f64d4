package discovery

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// Discovery is a copy, and the API server may serve something else by now: a CRD can have moved to
// another version, or have been deleted and recreated with another scope or kind. Responses of the
// API server show it.

// Contradicts reports whether an error shows that the API server may not serve a resource as
// discovery describes it. The API server has not executed the request then.
func Contradicts(err error) bool {
	var unserved *ResourceGoneError
	var schemaless *NoSchemaError
	return errors.As(err, &unserved) || errors.As(err, &schemaless) || isPathUnknown(err)
}

// isPathUnknown reports whether the API server serves nothing at the path of a request. Its
// response is plain text then, which client-go converts to a Status with this cause. For a missing
// object, the API server sends the Status itself.
func isPathUnknown(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// ResolveFresh resolves a resource as Resolve does, with a discovery request that is sent after
// this call.
func (r *Resolver) ResolveFresh(ctx context.Context, name string) (object.Resource, error) {
	if err := r.Refresh(ctx); err != nil {
		return object.Resource{}, err
	}
	return r.Resolve(ctx, name)
}

// ResolveRecent resolves a resource as Resolve does. Its discovery data is at most a second old.
func (r *Resolver) ResolveRecent(ctx context.Context, name string) (object.Resource, error) {
	if _, err := r.requests.Recent(ctx, maxTypesAge); err != nil {
		return object.Resource{}, err
	}
	return r.Resolve(ctx, name)
}

// Refresh reads discovery again. Concurrent calls share the request.
func (r *Resolver) Refresh(ctx context.Context) error {
	_, err := r.Fresh(ctx)
	return err
}

// Fresh reads discovery again, and returns the result. Concurrent calls share the request.
func (r *Resolver) Fresh(ctx context.Context) (*Snapshot, error) { return r.requests.Fresh(ctx) }

// Confirm returns a [ResourceGoneError] if the API server does not serve a resource as described.
// Its discovery data is at most a second old.
func (r *Resolver) Confirm(ctx context.Context, resource object.Resource) error {
	recent, err := r.requests.Recent(ctx, maxTypesAge)
	if err != nil {
		return err
	}
	if served, err := recent.Serves(resource); err == nil && !served {
		return &ResourceGoneError{resource}
	}
	return nil
}

// Serves reports whether a resource is served as described: in its version, with its kind and
// scope, and by a server whose objects may be cached for all callers. It fails if discovery could
// not read the group.
func (s *Snapshot) Serves(resource object.Resource) (bool, error) {
	if s.aggregated.excludes(resource.GroupResource()) && !resource.Refused {
		return false, nil
	}
	if err := s.failed[resource.GroupVersion()]; err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	found, ok := s.find(resource.GroupVersionResource())
	return ok && found == resource, nil
}
