package target

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Resolver finds the resources that requests name. Its methods are safe for concurrent use.
type Resolver struct{ hub *informerhub.Hub }

func NewResolver(hub *informerhub.Hub) *Resolver { return &Resolver{hub} }

// OnResource calls do with the resource that a request names. If the API server contradicts
// discovery about the resource, or the request does not match its scope, discovery is refreshed,
// and do is called once more if the resource has changed. In that case the API server has not
// carried out the request that do sent: see [discovery.Contradicts].
func OnResource[A any](ctx context.Context, c *Resolver, name string, do func(informerhub.Resource) (A, error)) (A, error) {
	resource, err := c.Resolve(ctx, name)
	if err != nil {
		var none A
		return none, err
	}
	answer, err := do(resource)
	if !isContradicted(err, resource) {
		return answer, err
	}
	fresh, refusal := c.hub.Resolver().ResolveFresh(ctx, name)
	var unknown *discovery.UnknownResourceError
	var gone *discovery.ResourceGoneError
	switch {
	case errors.As(refusal, &unknown):
		return answer, refusal
	case refusal != nil:
		return answer, err
	case fresh == resource && !errors.As(err, &gone):
		return answer, err
	}
	return do(fresh)
}

// OnCached is like OnResource, for a read of a namespace, or of all if that is empty, from a cache. If the service does not cache
// the resource there, do is called with a resource that is not cached, and reads it at the API server as the caller.
func OnCached[A any](ctx context.Context, c *Resolver, name, namespace string, do func(informerhub.Resource) (A, error)) (A, error) {
	return OnResource(ctx, c, name, func(resource informerhub.Resource) (A, error) {
		resource, err := c.CachedIn(ctx, resource, namespace)
		if err != nil {
			var none A
			return none, err
		}
		return do(resource)
	})
}

// CachedIn returns a resource as the service reads it in a namespace, or in all if that is empty: as one that is not
// cached if the service caches nothing of it there.
func (c *Resolver) CachedIn(ctx context.Context, resource informerhub.Resource, namespace string) (informerhub.Resource, error) {
	if !resource.Cacheable() {
		return resource, nil
	}
	names, err := c.hub.Namespaces(ctx, resource)
	if err != nil || names == nil {
		return resource, err
	}
	resource.Refused = len(names) == 0 || namespace != "" && !slices.Contains(names, namespace)
	return resource, nil
}

func isContradicted(err error, resource informerhub.Resource) bool {
	var scope *ScopeError
	// The scope of built-in resources never changes.
	return discovery.Contradicts(err) || errors.As(err, &scope) && !resource.BuiltIn()
}

// ScopeError is the error for a request that does not match the scope of its resource.
type ScopeError struct{ error }

func NewScopeError(err error) error { return &ScopeError{err} }

// Unwrap returns the error for the caller.
func (e *ScopeError) Unwrap() error { return e.error }

// CheckExists returns a ResourceGoneError if a response of the API server shows that a resource is
// not as discovered, and refreshed discovery confirms it. A response without objects shows nothing;
// then discovery must be recent.
func (c *Resolver) CheckExists(ctx context.Context, resource informerhub.Resource, objects ...*informerhub.Object) error {
	resolver := c.hub.Resolver()
	switch {
	case resource.BuiltIn(), len(objects) > 0 && resource.Fits(objects[0]):
		return nil
	case len(objects) > 0:
		if err := resolver.Refresh(ctx); err != nil {
			return nil // no newer discovery is available
		}
	}
	var gone *discovery.ResourceGoneError
	if err := resolver.Confirm(ctx, resource); errors.As(err, &gone) {
		return err
	}
	return nil
}

// Resolve returns the resource that a request names.
func (c *Resolver) Resolve(ctx context.Context, name string) (informerhub.Resource, error) {
	if name == "" {
		return informerhub.Resource{}, apierror.BadRequest("resource is required: give one in kubectl's syntax, such as \"pods\" or \"deployments.apps\"")
	}
	if strings.Contains(name, "/") {
		return informerhub.Resource{}, apierror.Failure(metav1.StatusReasonNotFound, "the cluster serves no resource %q: write the group as in "+
			"\"deployments.apps\", and the subresource in the field subresource", callerrors.CutName(name))
	}
	resource, err := c.hub.Resolver().Resolve(ctx, name)
	if err == nil {
		call.NoteResource(ctx, name, resource.String())
	}
	return resource, err
}
