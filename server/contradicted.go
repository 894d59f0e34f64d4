package server

import (
	"context"
	"errors"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// onResource does something with the resource that a request names. Where the API server
// contradicts what discovery has said of the resource, or the request does not fit its
// scope, discovery is asked again, and do is called once more if the answer is another one.
// The API server has then not carried out what do has sent: see [informerhub.Contradicts].
func onResource[A any](ctx context.Context, s *resources, name string, do func(informerhub.Resource) (A, error)) (A, error) {
	resource, err := s.resolve(ctx, name)
	if err != nil {
		var none A
		return none, err
	}
	answer, err := do(resource)
	if !isContradicted(err, resource) {
		return answer, err
	}
	fresh, refusal := s.hub.Resolver().ResolveFresh(ctx, name)
	var unknown *informerhub.UnknownResourceError
	var gone *informerhub.ResourceGoneError
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

func isContradicted(err error, resource informerhub.Resource) bool {
	var scope *scopeError
	// The scope of what is built in never changes.
	return informerhub.Contradicts(err) || errors.As(err, &scope) && !resource.BuiltIn()
}

// scopeError refuses a request that does not fit the scope of its resource.
type scopeError struct{ error }

// Unwrap returns the error for the caller.
func (e *scopeError) Unwrap() error { return e.error }

// confirm returns a ResourceGoneError if an answer of the API server shows that a resource is
// not what discovery has said, and discovery by now says so too. An answer without objects
// shows nothing; then discovery must be recent.
func (s *resources) confirm(ctx context.Context, resource informerhub.Resource, answered ...*informerhub.Object) error {
	resolver := s.hub.Resolver()
	switch {
	case resource.BuiltIn(), len(answered) > 0 && resource.Fits(answered[0]):
		return nil
	case len(answered) > 0:
		if err := resolver.Refresh(ctx); err != nil {
			return nil // nothing better is known
		}
	}
	var gone *informerhub.ResourceGoneError
	if err := resolver.Confirm(ctx, resource); errors.As(err, &gone) {
		return err
	}
	return nil
}
