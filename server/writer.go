package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// writer makes changes as one caller: by client-go's clientset for kinds that it
// knows, by its dynamic client for all others.
type writer struct{ clients *auth.Clients }

// written is what the API server answers to a change.
type written struct {
	object   *informerhub.Object
	created  bool
	warnings []string
}

func (w writer) patch(ctx context.Context, p patch) (written, error) {
	ctx, outcome := withOutcome(ctx)
	body, err := w.sendPatch(ctx, p)
	if err != nil {
		return written{}, outcome.complete(unreachable(ctx, err))
	}
	object, err := informerhub.ReadObject(body)
	if err != nil {
		return written{}, err
	}
	return written{object: object, created: outcome.created(), warnings: outcome.warnings}, nil
}

func (w writer) sendPatch(ctx context.Context, p patch) ([]byte, error) {
	if typed, ok := typedClient(w.clients.Typed, p.resource.GroupVersion()); ok && p.resource.BuiltIn() {
		return patchTyped(ctx, typed, p)
	}
	return patchDynamic(ctx, w.clients.Dynamic, p)
}

func patchTyped(ctx context.Context, client rest.Interface, p patch) ([]byte, error) {
	request := client.Patch(p.kind).
		NamespaceIfScoped(p.namespace, p.resource.Namespaced).
		Resource(p.resource.Name).
		Name(p.name).
		VersionedParams(&p.options, scheme.ParameterCodec).
		Body(p.body)
	if p.subresource != "" {
		request = request.SubResource(p.subresource)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // unlike Raw's, this one is the API server's own
		return nil, err
	}
	return result.Raw()
}

func patchDynamic(ctx context.Context, client dynamic.Interface, p patch) ([]byte, error) {
	var objects dynamic.ResourceInterface = client.Resource(p.resource.GroupVersionResource())
	if p.resource.Namespaced {
		objects = client.Resource(p.resource.GroupVersionResource()).Namespace(p.namespace)
	}
	var subresources []string
	if p.subresource != "" {
		subresources = append(subresources, p.subresource)
	}
	object, err := objects.Patch(ctx, p.name, p.kind, p.body, p.options, subresources...)
	if err != nil {
		return nil, err
	}
	return object.MarshalJSON()
}

// unreachable tells not having reached the API server from what it answers, and
// from the caller having left.
func unreachable(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	var failed *url.Error
	switch {
	case errors.As(err, &status):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the API server: %w", context.Cause(ctx))
	case !errors.As(err, &failed):
		return err
	}
	host := failed.URL
	if parsed, parseErr := url.Parse(failed.URL); parseErr == nil {
		host = parsed.Host
	}
	return &informerhub.UnavailableError{Host: host, Err: failed.Err}
}
