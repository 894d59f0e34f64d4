package server

import (
	"context"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// selecting is a request for the objects that match a selection.
type selecting interface {
	GetResource() string
	GetNamespace() string
	GetLabelSelector() string
	GetFieldSelector() string
	GetFilter() string
	GetRelated() *kubeconnectv1.Relation
	GetMinResourceVersion() string
}

// listing is a selecting request with a single response, from one snapshot.
type listing interface {
	selecting
	GetConsistency() kubeconnectv1.Consistency
	GetRequireAllNamespaces() bool
}

// queryFor returns the query of a request, restricted to a scope.
func (s *resources) queryFor(request selecting, related relation, scope auth.Namespaces) (informerhub.Query, error) {
	filter, err := s.filters.Compile(request.GetFilter())
	if err != nil {
		return informerhub.Query{}, badRequest("filter: %v", err)
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

// selected is the snapshot of a selection, with its origin.
type selected struct {
	resource informerhub.Resource
	snapshot informerhub.Snapshot
	// freshness is the freshness of the snapshot when it was taken.
	freshness informerhub.Freshness
	source    kubeconnectv1.Source
	warnings  []string
	own       bool // no informer cache shares the objects
	wanted    read
	scope     auth.Namespaces // the scope of the snapshot
	related   relation
	// cache and selection are the source of the snapshot; nil for a list of the API server.
	cache     *informerhub.Cache
	selection *informerhub.Selection
}

// coverage returns the namespaces that the snapshot covers, if these are not all, and all warnings
// for the response.
func (s selected) coverage() (namespaces, warnings []string) {
	namespaces, warnings = coverageOf(s.wanted, s.scope)
	return namespaces, append(warnings, s.warnings...)
}

// selectFor takes a snapshot of the objects that a request selects.
func (s *resources) selectFor(ctx context.Context, request listing) (selected, error) {
	if err := checkSegment("namespace", request.GetNamespace()); err != nil {
		return selected{}, err
	}
	return onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (selected, error) {
		return s.selectOf(ctx, resource, request)
	})
}

func (s *resources) selectOf(ctx context.Context, resource informerhub.Resource, request listing) (selected, error) {
	wanted := toList(resource, request.GetNamespace(), request.GetFieldSelector()).requiring(request)
	scope, err := s.rights.scope(ctx, identityFrom(ctx), wanted)
	if err != nil {
		return selected{}, err
	}
	if isLive(resource, request.GetConsistency()) {
		return s.selectLatest(ctx, request, wanted, scope)
	}
	return s.selectCached(ctx, request, wanted, scope)
}

func (s *resources) selectCached(ctx context.Context, request listing, wanted read, scope auth.Namespaces) (selected, error) {
	cache, err := s.hub.Cache(ctx, wanted.resource)
	if err != nil {
		return selected{}, err
	}
	if err := awaitVersion(ctx, cache, request.GetMinResourceVersion()); err != nil {
		return selected{}, err
	}
	found, err := s.selectionOf(ctx, cache, request, wanted, scope)
	if err != nil {
		return selected{}, err
	}
	snapshot, err := cache.List(ctx, found.selection)
	return s.taken(ctx, found, snapshot, err)
}

// selectionOf compiles a request's selection of a cache. It does not take a snapshot.
func (s *resources) selectionOf(ctx context.Context, cache *informerhub.Cache, request listing, wanted read, scope auth.Namespaces) (selected, error) {
	related, err := s.relate(ctx, request.GetRelated(), wanted.resource, request.GetConsistency())
	if err != nil {
		return selected{}, err
	}
	query, err := s.queryFor(request, related, scope)
	if err != nil {
		return selected{}, err
	}
	selection, err := cache.Select(ctx, query)
	return selected{
		resource: cache.Resource(), source: kubeconnectv1.Source_SOURCE_CACHE, wanted: wanted, scope: scope, related: related,
		freshness: cache.Freshness(), // before the snapshot, because a filter may take long
		cache:     cache, selection: selection,
	}, err
}

// taken returns found with a snapshot of its selection, reduced to the objects that a relation's
// root owns.
func (s *resources) taken(ctx context.Context, found selected, snapshot informerhub.Snapshot, err error) (selected, error) {
	if err != nil {
		return selected{}, err
	}
	found.snapshot, found.warnings = snapshot, snapshot.Warnings
	found.snapshot.Objects, err = s.ownedByRoot(ctx, found.related, snapshot.Objects)
	return found, err
}
