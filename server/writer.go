package server

import (
	"context"

	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// writer makes changes as one caller. It uses client-go's clientset for the kinds that the
// clientset has, and the dynamic client for all others.
type writer struct{ clients *auth.Clients }

// writeResult is the API server's response to a change.
type writeResult struct {
	body     []byte
	created  bool
	warnings []string
}

func (w writer) make(ctx context.Context, dest target, change change) (writeResult, error) {
	ctx, outcome := withOutcome(ctx)
	if err := w.send(ctx, dest, change); err != nil {
		return writeResult{}, clarified(outcome.complete(apierror.Unavailable(ctx, err)), dest, change)
	}
	return writeResult{body: outcome.body.Bytes(), created: outcome.created(), warnings: append(outcome.warnings, outcome.unseen...)}, nil
}

func (w writer) send(ctx context.Context, dest target, change change) error {
	if typed, ok := typedClient(w.clients.Typed, dest.resource.GroupVersion()); ok && dest.resource.BuiltIn() {
		request := change.typed(typed).
			NamespaceIfScoped(dest.namespace, dest.resource.Namespaced).
			Resource(dest.resource.Name).
			SubResource(dest.subresources()...)
		if dest.name != "" {
			request = request.Name(dest.name)
		}
		return request.Do(ctx).Error()
	}
	var objects dynamic.ResourceInterface = w.clients.Dynamic.Resource(dest.resource.GroupVersionResource())
	if dest.resource.Namespaced {
		objects = w.clients.Dynamic.Resource(dest.resource.GroupVersionResource()).Namespace(dest.namespace)
	}
	return change.dynamic(ctx, objects, dest)
}
