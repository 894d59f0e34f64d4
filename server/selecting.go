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

// listing is a selecting request that is answered once, from one snapshot.
type listing interface {
	selecting
	GetConsistency() kubeconnectv1.Consistency
	GetRequireAllNamespaces() bool
}

// queryFor is what a request selects, for a caller who may see a scope.
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

// selected is the snapshot of a selection, and how it was come by.
type selected struct {
	resource informerhub.Resource
	snapshot informerhub.Snapshot
	// freshness is that of the snapshot when it was taken.
	freshness informerhub.Freshness
	source    kubeconnectv1.Source
	warnings  []string
	own       bool // no cache holds the objects
	wanted    read
	scope     auth.Namespaces // what the snapshot was restricted to
	related   relation
	// cache and selection are what the snapshot was taken from; nil for the API server's answer.
	cache     *informerhub.Cache
	selection *informerhub.Selection
}

// coverage returns the namespaces that the snapshot covers, where these are not all, and
// all that people should know of it.
func (s selected) coverage() (namespaces, warnings []string) {
	namespaces, warnings = coverageOf(s.wanted, s.scope)
	return namespaces, append(warnings, s.warnings...)
}

// selectFor takes a snapshot of what a request selects.
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

// selectionOf understands what a request selects of a cache, of which a snapshot is yet to be taken.
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
		freshness: cache.Freshness(), // before the snapshot, for a filter takes its time
		cache:     cache, selection: selection,
	}, err
}

// taken adds a snapshot that was taken of a selection.
func (s *resources) taken(ctx context.Context, found selected, snapshot informerhub.Snapshot, err error) (selected, error) {
	if err != nil {
		return selected{}, err
	}
	found.snapshot, found.warnings = snapshot, snapshot.Warnings
	found.snapshot.Objects, err = s.ownedByRoot(ctx, found.related, snapshot.Objects)
	return found, err
}
