package informerhub

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// watchMetadata runs a Reflector that fills a store with the metadata of a resource's objects,
// until the context ends or the API server denies it, which is the error. It calls failed when a
// list has failed.
func (s *definitionsSession) watchMetadata(
	ctx context.Context, resource Resource, store cache.ReflectorStore, failed func(),
) error {
	client, err := s.client(resource)
	if err != nil {
		return err
	}
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	lists := metadataOf(client, resource, refuse, failed)
	reflector := cache.NewReflectorWithOptions(lists, &Object{}, store, cache.ReflectorOptions{
		Name: "informerhub", TypeDescription: resource.String(), Backoff: backoff(),
	})
	reflector.RunWithContext(ctx)
	return context.Cause(ctx)
}

// listThenWatch makes a Reflector list before it watches. A list shows at once whether the service
// has the permission, and every version of the API server requires the permission to list.
type listThenWatch struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported disables watch-list in the Reflector.
func (*listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }

// metadataOf lists and watches the metadata of a resource's objects. It calls refuse when the
// service has no permission, and failed when a list has failed.
func metadataOf(
	client rest.Interface, resource Resource, refuse context.CancelCauseFunc, failed func(),
) *listThenWatch {
	recordRefusal := func(err error) error {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			refuse(err)
		}
		return err
	}
	return &listThenWatch{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := metadataRequest(client, resource, object.PartialListKind, options).Do(ctx).Get()
			if err != nil {
				failed()
			}
			return list, recordRefusal(err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			events, err := metadataRequest(client, resource, object.PartialKind, options).Watch(ctx)
			return events, recordRefusal(err)
		},
	}}
}

func metadataRequest(client rest.Interface, resource Resource, kind string, options metav1.ListOptions) *rest.Request {
	return object.RequestMetadata(client.Get(), resource, kind).
		Resource(resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
}
