package informerhub

import (
	"context"
	"errors"
	"net/http"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// CurrentVersion returns a resource version of a resource that is not older than any change that
// the API server has confirmed before the call. It lists the metadata of one object in a namespace,
// or in all namespaces if that is empty, through a client that acts as a caller. With a nil client
// it uses the hub's own permissions.
func (h *Hub) CurrentVersion(
	ctx context.Context, resource Resource, namespace string, httpClient *http.Client,
) (string, error) {
	if httpClient == nil {
		httpClient = h.client
	}
	client, err := h.clientFor(resource, httpClient, resource.GroupVersionKind())
	if err != nil {
		return "", err
	}
	// Without a version in the request, the response is not older than the request.
	options := metav1.ListOptions{Limit: 1}
	version, err := listedVersion(ctx, object.RequestMetadata(client.Get(), resource, object.PartialListKind).
		NamespaceIfScoped(namespace, namespace != "").
		Resource(resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		MaxRetries(0))
	if err != nil {
		return "", discovery.AsUnavailable(ctx, client, err)
	}
	return version, nil
}

// listedVersion returns the resource version of the list that a request returns.
func listedVersion(ctx context.Context, request *rest.Request) (string, error) {
	got, err := request.Do(ctx).Get()
	if err != nil {
		return "", err
	}
	list, ok := got.(*object.List)
	if !ok {
		return "", errors.New("the API server's response is not a list")
	}
	return list.ResourceVersion, nil
}
