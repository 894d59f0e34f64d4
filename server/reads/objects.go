package reads

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// Objects has the handler of Get: it reads single objects. Its methods are safe for concurrent use.
type Objects struct {
	hub         *informerhub.Hub
	targets     *target.Resolver
	permissions access.Permissions
	upstream    *Upstream
}

// Get implements kubeconnect.v1.ResourceService.
func (o *Objects) Get(ctx context.Context, request *kubeconnectv1.GetRequest) (*kubeconnectv1.GetResponse, error) {
	params, err := parseGet(request)
	if err != nil {
		return nil, err
	}
	got, err := target.OnResource(ctx, o.targets, request.GetResource(), func(resource informerhub.Resource) (GetResult, error) {
		if err := target.CheckName(resource, params.Namespace, params.Name); err != nil {
			return GetResult{}, err
		}
		return o.Read(ctx, resource, params)
	})
	if err != nil {
		return nil, err
	}
	// Only now the size of the response is known. The object itself is in a cache, or its memory is reserved by ReservingClient.
	if err := budget.ReserveResponse(ctx, params.view.Memory([]*informerhub.Object{got.Object})); err != nil {
		return nil, err
	}
	object, err := budget.EncodeInSlot(ctx, got.Object.Masked(params.view.Fields), params.view.Encoding)
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

// GetParams are the parsed fields of a request for one object.
type GetParams struct {
	Namespace, Name string
	subresource     string // empty for the object itself
	consistency     kubeconnectv1.Consistency
	MinVersion      string // the version that the read must see; empty for any
	metadataOnly    bool   // the object is reduced to its metadata
	view            encode.View
}

// parseGet parses a request. The names in it are checked when the resource is known.
func parseGet(request *kubeconnectv1.GetRequest) (GetParams, error) {
	fields, err := encode.Fields(request.GetFields(), request.GetMetadataOnly())
	if err := errors.Join(encode.Check(request.GetEncoding()), target.CheckConsistency(request.GetConsistency()), target.CheckVersion(request.GetMinResourceVersion()), err); err != nil {
		return GetParams{}, err
	}
	return GetParams{
		Namespace:    request.GetNamespace(),
		Name:         request.GetName(),
		subresource:  request.GetSubresource(),
		consistency:  request.GetConsistency(),
		MinVersion:   request.GetMinResourceVersion(),
		metadataOnly: request.GetMetadataOnly(),
		view:         encode.View{Encoding: request.GetEncoding(), Fields: fields, Messages: true},
	}, nil
}

// GetResult is the result of reading one object: the object and its origin.
type GetResult struct {
	kind      *kubeconnectv1.Resource
	Object    *informerhub.Object
	freshness informerhub.Freshness
	source    kubeconnectv1.Source
}

// Read reads one object: a subresource or the latest state at the API server, anything else from the
// cache.
func (o *Objects) Read(ctx context.Context, resource informerhub.Resource, params GetParams) (GetResult, error) {
	switch {
	case params.subresource != "":
		access.ToGetSubresource(resource, params.Namespace, params.Name, params.subresource).NoteForwarded(ctx)
		return o.readSubresource(ctx, resource, params)
	case isLive(resource, params.consistency):
		access.ToGet(resource, params.Namespace, params.Name).NoteForwarded(ctx)
		return o.readLive(ctx, resource, params)
	}
	resource, err := o.targets.CachedIn(ctx, resource, params.Namespace)
	if err != nil {
		return GetResult{}, err
	}
	if !resource.Cacheable() {
		access.ToGet(resource, params.Namespace, params.Name).NoteForwarded(ctx)
		return o.readLive(ctx, resource, params)
	}
	return o.readCached(ctx, resource, params)
}

// readCached reads an object from the cache, for a caller that can get it. The error is the same for every object that the caller
// cannot get, whether it exists or not, because the permission is checked first.
func (o *Objects) readCached(ctx context.Context, resource informerhub.Resource, params GetParams) (GetResult, error) {
	read := access.ToGet(resource, params.Namespace, params.Name)
	scope, err := o.permissions.Scope(ctx, call.IdentityFrom(ctx), read)
	if err != nil {
		return GetResult{}, err
	}
	cache, err := access.Cache(ctx, o.hub, read, scope)
	if err != nil {
		return GetResult{}, err
	}
	if err := target.AwaitVersion(ctx, cache, params.MinVersion); err != nil {
		return GetResult{}, err
	}
	if err := notModified(ctx, cache, scope); err != nil {
		return GetResult{}, err
	}
	freshness := cache.Freshness() // before the object, so that the freshness is never newer than the object
	object, err := cache.Get(params.Namespace, params.Name)
	if apierrors.IsNotFound(err) && scope.Selected != "" {
		return o.readLive(ctx, resource, params) // it may exist, and not be selected
	}
	if err != nil {
		return GetResult{}, err
	}
	return GetResult{encode.Kind(resource), object, freshness, kubeconnectv1.Source_SOURCE_CACHE}, nil
}

// readLive reads an object, or one of its subresources, at the API server as the caller. The API
// server checks the caller's permission.
func (o *Objects) readLive(ctx context.Context, resource informerhub.Resource, params GetParams) (GetResult, error) {
	live, err := o.upstream.reader(ctx, resource, "get")
	if err != nil {
		return GetResult{}, err
	}
	if params.metadataOnly {
		live = live.MetadataOnly()
	}
	object, err := live.Get(ctx, params.Namespace, params.Name, params.subresource)
	if err != nil {
		return GetResult{}, budget.UpstreamError(ctx, err)
	}
	// A subresource can be an object of another kind, which says nothing about the resource.
	if params.subresource == "" {
		if err := o.targets.CheckExists(ctx, resource, object); err != nil {
			return GetResult{}, err
		}
	}
	return GetResult{encode.KindOf(object, resource), object, freshNow(), kubeconnectv1.Source_SOURCE_API_SERVER}, nil
}

// readSubresource reads a subresource at the API server. It rejects a subresource that the API server does not offer for get, or
// whose response is not an object, such as a log.
func (o *Objects) readSubresource(ctx context.Context, resource informerhub.Resource, params GetParams) (GetResult, error) {
	if err := target.CheckSubresource(params.subresource); err != nil {
		return GetResult{}, err
	}
	readable, err := o.hub.Resolver().Subresources(ctx, resource, "get")
	if err != nil {
		return GetResult{}, err
	}
	readable = slices.DeleteFunc(readable, func(name string) bool { return name == "" || target.NonObjectSubresources[name] != "" })
	if !slices.Contains(readable, params.subresource) {
		return GetResult{}, unknownSubresource(resource, params.subresource, readable)
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
