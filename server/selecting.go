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
		return s.selectLive(ctx, request, wanted, scope)
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
	related, err := s.relate(ctx, request.GetRelated(), wanted.resource, request.GetConsistency())
	if err != nil {
		return selected{}, err
	}
	query, err := s.queryFor(request, related, scope)
	if err != nil {
		return selected{}, err
	}
	selection, err := cache.Select(ctx, query)
	if err != nil {
		return selected{}, err
	}
	freshness := cache.Freshness() // before, for a filter takes its time
	snapshot, err := cache.List(ctx, selection)
	if err != nil {
		return selected{}, err
	}
	if snapshot.Objects, err = s.ownedByRoot(ctx, related, snapshot.Objects); err != nil {
		return selected{}, err
	}
	return selected{
		resource: cache.Resource(), snapshot: snapshot, freshness: freshness,
		source: kubeconnectv1.Source_SOURCE_CACHE, warnings: snapshot.Warnings,
		wanted: wanted, scope: scope,
	}, nil
}
