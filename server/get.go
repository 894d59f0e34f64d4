package server

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Get implements kubeconnect.v1.ResourceService.
func (s *resources) Get(ctx context.Context, request *kubeconnectv1.GetRequest) (*kubeconnectv1.GetResponse, error) {
	if err := checkReading(request); err != nil {
		return nil, err
	}
	fields, err := encode.Fields(request.GetFields(), request.GetMetadataOnly())
	if err != nil {
		return nil, err
	}
	got, err := onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (getResult, error) {
		if err := checkName(resource, request.GetNamespace(), request.GetName()); err != nil {
			return getResult{}, err
		}
		return s.get(ctx, resource, request)
	})
	if err != nil {
		return nil, err
	}
	view := encode.View{Encoding: request.GetEncoding(), Fields: fields, Messages: true}
	if err := reserveResponse(ctx, view.Memory([]*informerhub.Object{got.object})); err != nil {
		return nil, err
	}
	object, err := encodeInSlot(ctx, got.object.Masked(fields), request.GetEncoding())
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.GetResponse{
		Resource:  encode.ShownKind(got.kind, request.GetMetadataOnly()),
		Object:    object,
		Freshness: encode.Freshness(got.freshness),
		Source:    got.source,
	}, nil
}

// encodeInSlot encodes an object like encode.Object. It takes a processor slot if the object is
// large.
func encodeInSlot(ctx context.Context, object *informerhub.Object, encoding kubeconnectv1.Encoding) (*kubeconnectv1.Object, error) {
	return inSlotIf(ctx, object.Size() > shortBytes, func(context.Context) (*kubeconnectv1.Object, error) {
		return encode.Object(object, encoding), nil
	})
}

// getResult is the result of reading one object: the object and its origin.
type getResult struct {
	kind      *kubeconnectv1.Resource
	object    *informerhub.Object
	freshness informerhub.Freshness
	source    kubeconnectv1.Source
}

// get reads the object that a request names: a subresource or the latest state at the API server,
// anything else from the cache.
func (s *resources) get(ctx context.Context, resource informerhub.Resource, request *kubeconnectv1.GetRequest) (getResult, error) {
	if part := request.GetSubresource(); part != "" {
		return s.getPart(ctx, resource, request, part)
	}
	if isLive(resource, request.GetConsistency()) {
		return s.getLive(ctx, resource, request, "")
	}
	return s.getCached(ctx, resource, request)
}

func (s *resources) getCached(ctx context.Context, resource informerhub.Resource, request *kubeconnectv1.GetRequest) (getResult, error) {
	access := toGet(resource, request.GetNamespace(), request.GetName())
	if _, err := s.rights.scope(ctx, edge.IdentityFrom(ctx), access); err != nil {
		return getResult{}, err
	}
	cache, err := s.hub.Cache(ctx, resource)
	if err != nil {
		return getResult{}, err
	}
	if err := awaitVersion(ctx, cache, request.GetMinResourceVersion()); err != nil {
		return getResult{}, err
	}
	freshness := cache.Freshness() // before the object, so that the freshness is never newer than the object
	object, err := cache.Get(request.GetNamespace(), request.GetName())
	if err != nil {
		return getResult{}, err
	}
	return getResult{encode.Kind(resource), object, freshness, kubeconnectv1.Source_SOURCE_CACHE}, nil
}

// getLive reads an object, or one of its subresources, at the API server as the caller. The API
// server checks the caller's permission.
func (s *resources) getLive(ctx context.Context, resource informerhub.Resource, request objectRequest, part string) (getResult, error) {
	live, err := s.live(ctx, resource, "get")
	if err != nil {
		return getResult{}, err
	}
	if shows, ok := request.(projectionRequest); ok && shows.GetMetadataOnly() {
		live = live.MetadataOnly()
	}
	object, err := live.Get(ctx, request.GetNamespace(), request.GetName(), part)
	if err != nil {
		return getResult{}, liveError(ctx, err)
	}
	if part == "" {
		if err := s.confirm(ctx, resource, object); err != nil {
			return getResult{}, err
		}
	}
	return getResult{encode.KindOf(object, resource), object, freshNow(), kubeconnectv1.Source_SOURCE_API_SERVER}, nil
}

// getPart reads a subresource of an object.
func (s *resources) getPart(ctx context.Context, resource informerhub.Resource, request objectRequest, part string) (getResult, error) {
	if err := checkSubresource(part); err != nil {
		return getResult{}, err
	}
	readable, err := s.hub.Resolver().Subresources(ctx, resource, "get")
	if err != nil {
		return getResult{}, err
	}
	readable = slices.DeleteFunc(readable, func(name string) bool { return name == "" || nonObjectSubresources[name] != "" })
	if !slices.Contains(readable, part) {
		return getResult{}, unknownPart(resource, part, readable)
	}
	return s.getLive(ctx, resource, request, part)
}

func unknownPart(resource informerhub.Resource, part string, readable []string) error {
	if len(readable) == 0 {
		return apierror.Failure(metav1.StatusReasonNotFound, "%s have no subresource that can be read; requested: %q", resource.Name, part)
	}
	return apierror.Failure(metav1.StatusReasonNotFound, "%s have no subresource %q that can be read; readable: %q", resource.Name, part, readable)
}

// freshNow returns the freshness of a response that the API server has just sent.
func freshNow() informerhub.Freshness { return informerhub.Freshness{LastContact: time.Now()} }
