package server

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Objects has the handler of Get: it reads single objects. Its methods are safe for concurrent use.
type Objects struct {
	hub         *informerhub.Hub
	targets     *cluster
	permissions rights
	upstream    *Upstream
}

// Get implements kubeconnect.v1.ResourceService.
func (o *Objects) Get(ctx context.Context, request *kubeconnectv1.GetRequest) (*kubeconnectv1.GetResponse, error) {
	params, err := parseGet(request)
	if err != nil {
		return nil, err
	}
	got, err := onResource(ctx, o.targets, request.GetResource(), func(resource informerhub.Resource) (getResult, error) {
		if err := checkName(resource, params.namespace, params.name); err != nil {
			return getResult{}, err
		}
		return o.Read(ctx, resource, params)
	})
	if err != nil {
		return nil, err
	}
	if err := reserveResponse(ctx, params.view.Memory([]*informerhub.Object{got.object})); err != nil {
		return nil, err
	}
	object, err := encodeInSlot(ctx, got.object.Masked(params.view.Fields), params.view.Encoding)
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.GetResponse{
		Resource:  encode.ShownKind(got.kind, params.metadataOnly),
		Object:    object,
		Freshness: encode.Freshness(got.freshness),
		Source:    got.source,
	}, nil
}

// getParams are the parsed fields of a request for one object.
type getParams struct {
	namespace, name string
	subresource     string // empty for the object itself
	consistency     kubeconnectv1.Consistency
	minVersion      string // the version that the read must see; empty for any
	metadataOnly    bool   // the object is reduced to its metadata
	view            encode.View
}

func parseGet(request *kubeconnectv1.GetRequest) (getParams, error) {
	fields, err := encode.Fields(request.GetFields(), request.GetMetadataOnly())
	if err := errors.Join(encode.Check(request.GetEncoding()), checkConsistency(request.GetConsistency()), checkVersion(request.GetMinResourceVersion()), err); err != nil {
		return getParams{}, err
	}
	return getParams{
		namespace:    request.GetNamespace(),
		name:         request.GetName(),
		subresource:  request.GetSubresource(),
		consistency:  request.GetConsistency(),
		minVersion:   request.GetMinResourceVersion(),
		metadataOnly: request.GetMetadataOnly(),
		view:         encode.View{Encoding: request.GetEncoding(), Fields: fields, Messages: true},
	}, nil
}

// getResult is the result of reading one object: the object and its origin.
type getResult struct {
	kind      *kubeconnectv1.Resource
	object    *informerhub.Object
	freshness informerhub.Freshness
	source    kubeconnectv1.Source
}

// Read reads one object: a subresource or the latest state at the API server, anything else from the
// cache.
func (o *Objects) Read(ctx context.Context, resource informerhub.Resource, params getParams) (getResult, error) {
	switch {
	case params.subresource != "":
		return o.readSubresource(ctx, resource, params)
	case isLive(resource, params.consistency):
		return o.readLive(ctx, resource, params)
	}
	return o.readCached(ctx, resource, params)
}

func (o *Objects) readCached(ctx context.Context, resource informerhub.Resource, params getParams) (getResult, error) {
	access := toGet(resource, params.namespace, params.name)
	scope, err := o.permissions.scope(ctx, edge.IdentityFrom(ctx), access)
	if err != nil {
		return getResult{}, err
	}
	cache, err := o.hub.Cache(ctx, resource)
	if err != nil {
		return getResult{}, err
	}
	if err := awaitVersion(ctx, cache, params.minVersion); err != nil {
		return getResult{}, err
	}
	if err := notModified(ctx, cache, scope); err != nil {
		return getResult{}, err
	}
	freshness := cache.Freshness() // before the object, so that the freshness is never newer than the object
	object, err := cache.Get(params.namespace, params.name)
	if err != nil {
		return getResult{}, err
	}
	return getResult{encode.Kind(resource), object, freshness, kubeconnectv1.Source_SOURCE_CACHE}, nil
}

// readLive reads an object, or one of its subresources, at the API server as the caller. The API
// server checks the caller's permission.
func (o *Objects) readLive(ctx context.Context, resource informerhub.Resource, params getParams) (getResult, error) {
	live, err := o.upstream.reader(ctx, resource, "get")
	if err != nil {
		return getResult{}, err
	}
	if params.metadataOnly {
		live = live.MetadataOnly()
	}
	object, err := live.Get(ctx, params.namespace, params.name, params.subresource)
	if err != nil {
		return getResult{}, liveError(ctx, err)
	}
	if params.subresource == "" {
		if err := o.targets.checkExists(ctx, resource, object); err != nil {
			return getResult{}, err
		}
	}
	return getResult{encode.KindOf(object, resource), object, freshNow(), kubeconnectv1.Source_SOURCE_API_SERVER}, nil
}

func (o *Objects) readSubresource(ctx context.Context, resource informerhub.Resource, params getParams) (getResult, error) {
	if err := checkSubresource(params.subresource); err != nil {
		return getResult{}, err
	}
	readable, err := o.hub.Resolver().Subresources(ctx, resource, "get")
	if err != nil {
		return getResult{}, err
	}
	readable = slices.DeleteFunc(readable, func(name string) bool { return name == "" || nonObjectSubresources[name] != "" })
	if !slices.Contains(readable, params.subresource) {
		return getResult{}, unknownSubresource(resource, params.subresource, readable)
	}
	return o.readLive(ctx, resource, params)
}

func unknownSubresource(resource informerhub.Resource, name string, readable []string) error {
	if len(readable) == 0 {
		return apierror.Failure(metav1.StatusReasonNotFound, "%s have no subresource that can be read; requested: %q", resource.Name, name)
	}
	return apierror.Failure(metav1.StatusReasonNotFound, "%s have no subresource %q that can be read; readable: %q", resource.Name, name, readable)
}

// freshNow returns the freshness of a response that the API server has just sent.
func freshNow() informerhub.Freshness { return informerhub.Freshness{LastContact: time.Now()} }
