package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
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
		return writeResult{}, clarified(outcome.complete(asUnavailable(ctx, err)), dest, change)
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

// asUnavailable distinguishes an API server that was not reached from an error response, and from a
// client that has disconnected.
func asUnavailable(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	var failed *url.Error
	switch {
	case errors.As(err, &failed) && isNoFailure(failed.Err) && ctx.Err() == nil:
		return failed.Err
	case errors.As(err, &status):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the API server: %w", context.Cause(ctx))
	case failed == nil:
		return err
	}
	host := failed.URL
	if parsed, parseErr := url.Parse(failed.URL); parseErr == nil {
		host = parsed.Host
	}
	return &informerhub.UnavailableError{Host: host, Err: failed.Err}
}
