package write

import (
	"context"

	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Writer makes changes as one caller. It uses client-go's clientset for the kinds that the
// clientset has, and the dynamic client for all others.
// It is safe for concurrent use.
type Writer struct{ Clients *auth.Clients }

// Result is the API server's response to a change.
type Result struct {
	Body     []byte   // as the API server sent it: an object, a list or a Status
	Created  bool     // the change has created the object
	Warnings []string // of the API server
}

// Do makes a change, and returns the API server's response. The error is the API server's, with a
// clearer message where that does not describe the fault, or a *discovery.UnavailableError.
func (w Writer) Do(ctx context.Context, dest Target, change Change) (Result, error) {
	ctx, outcome := withOutcome(ctx)
	if err := w.send(ctx, dest, change); err != nil {
		return Result{}, clarified(outcome.Complete(apierror.Unavailable(ctx, err)), dest, change)
	}
	return Result{Body: outcome.body.Bytes(), Created: outcome.created(), Warnings: append(outcome.warnings, outcome.unseen...)}, nil
}

func (w Writer) send(ctx context.Context, dest Target, change Change) error {
	if typed, ok := typedClient(w.Clients.Typed, dest.Resource.GroupVersion()); ok && dest.Resource.BuiltIn() {
		request := change.typed(typed).
			NamespaceIfScoped(dest.Namespace, dest.Resource.Namespaced).
			Resource(dest.Resource.Name).
			SubResource(dest.subresources()...)
		if dest.Name != "" {
			request = request.Name(dest.Name)
		}
		return request.Do(ctx).Error()
	}
	var objects dynamic.ResourceInterface = w.Clients.Dynamic.Resource(dest.Resource.GroupVersionResource())
	if dest.Resource.Namespaced {
		objects = w.Clients.Dynamic.Resource(dest.Resource.GroupVersionResource()).Namespace(dest.Namespace)
	}
	return change.dynamic(ctx, objects, dest)
}
