package server

import (
	"context"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// selectionRequest is a request for the objects that match a selection.
type selectionRequest interface {
	GetResource() string
	GetNamespace() string
	GetLabelSelector() string
	GetFieldSelector() string
	GetFilter() string
	GetRelated() *kubeconnectv1.Relation
	GetMinResourceVersion() string
}

// listRequest is a selectionRequest with a single response, from one snapshot.
type listRequest interface {
	selectionRequest
	GetConsistency() kubeconnectv1.Consistency
	GetRequireAllNamespaces() bool
}

// queryFor returns the query of a request, restricted to a scope.
func (s *resources) queryFor(request selectionRequest, related relation, scope auth.Namespaces) (informerhub.Query, error) {
	filter, err := s.filters.Compile(request.GetFilter())
	if err != nil {
		return informerhub.Query{}, apierror.BadRequest("filter: %v", err)
	}
	return informerhub.Query{
		Namespace:     request.GetNamespace(),
		LabelSelector: request.GetLabelSelector(),
		FieldSelector: request.GetFieldSelector(),
		Namespaces:    restriction(scope),
		Related:       related.related,
		Filter:        filter,
	}, nil
}

// listResult is the snapshot of a selection, with its origin.
type listResult struct {
	resource informerhub.Resource
	snapshot informerhub.Snapshot
	// freshness is the freshness of the snapshot when it was taken.
	freshness informerhub.Freshness
	source    kubeconnectv1.Source
	warnings  []string
	unshared  bool // no informer cache shares the objects
	access    accessRequest
	scope     auth.Namespaces // the scope of the snapshot
	related   relation
	// cache and selection are the source of the snapshot; nil for a list of the API server.
	cache     *informerhub.Cache
	selection *informerhub.Selection
}

// coverage returns the namespaces that the snapshot covers, if these are not all, and all warnings
// for the response.
func (s listResult) coverage() (namespaces, warnings []string) {
	namespaces, warnings = coverageOf(s.access, s.scope)
	return namespaces, append(warnings, s.warnings...)
}

// selectFor takes a snapshot of the objects that a request selects.
func (s *resources) selectFor(ctx context.Context, request listRequest) (listResult, error) {
	if err := checkSegment("namespace", request.GetNamespace()); err != nil {
		return listResult{}, err
	}
	return onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (listResult, error) {
		return s.selectOf(ctx, resource, request)
	})
}

func (s *resources) selectOf(ctx context.Context, resource informerhub.Resource, request listRequest) (listResult, error) {
	access := toList(resource, request.GetNamespace(), request.GetFieldSelector()).requiring(request)
	scope, err := s.rights.scope(ctx, edge.IdentityFrom(ctx), access)
	if err != nil {
		return listResult{}, err
	}
	if isLive(resource, request.GetConsistency()) {
		return s.selectLatest(ctx, request, access, scope)
	}
	return s.selectCached(ctx, request, access, scope)
}

func (s *resources) selectCached(ctx context.Context, request listRequest, access accessRequest, scope auth.Namespaces) (listResult, error) {
	cache, err := s.hub.Cache(ctx, access.resource)
	if err != nil {
		return listResult{}, err
	}
	if err := awaitVersion(ctx, cache, request.GetMinResourceVersion()); err != nil {
		return listResult{}, err
	}
	found, err := s.selectionOf(ctx, cache, request, access, scope)
	if err != nil {
		return listResult{}, err
	}
	snapshot, err := cache.List(ctx, found.selection)
	return s.taken(ctx, found, snapshot, err)
}

// selectionOf compiles a request's selection of a cache. It does not take a snapshot.
func (s *resources) selectionOf(ctx context.Context, cache *informerhub.Cache, request listRequest, access accessRequest, scope auth.Namespaces) (listResult, error) {
	related, err := s.relate(ctx, request.GetRelated(), access.resource, request.GetConsistency())
	if err != nil {
		return listResult{}, err
	}
	query, err := s.queryFor(request, related, scope)
	if err != nil {
		return listResult{}, err
	}
	selection, err := cache.Select(ctx, query)
	return listResult{
		resource: cache.Resource(), source: kubeconnectv1.Source_SOURCE_CACHE, access: access, scope: scope, related: related,
		freshness: cache.Freshness(), // before the snapshot, because a filter may take long
		cache:     cache, selection: selection,
	}, err
}

// taken returns found with a snapshot of its selection, reduced to the objects that a relation's
// root owns.
func (s *resources) taken(ctx context.Context, found listResult, snapshot informerhub.Snapshot, err error) (listResult, error) {
	if err != nil {
		return listResult{}, err
	}
	found.snapshot, found.warnings = snapshot, snapshot.Warnings
	found.snapshot.Objects, err = s.ownedByRoot(ctx, found.related, snapshot.Objects)
	return found, err
}

// projectionRequest is a request that selects the parts of each object.
type projectionRequest interface {
	GetFields() []string
	GetMetadataOnly() bool
}

// readsMetadata reports whether a request uses only the metadata of objects, so that the API server
// need not send more.
func readsMetadata(request selectionRequest) bool {
	shows, ok := request.(projectionRequest)
	ordered, _ := request.(interface{ GetOrderBy() string })
	return ok && shows.GetMetadataOnly() && request.GetFilter() == "" && request.GetRelated() == nil &&
		(ordered == nil || ordered.GetOrderBy() == "")
}
