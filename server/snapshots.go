package server

import (
	"context"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Snapshots takes snapshots of the objects that requests select, from the caches or at the API server. Its
// methods are safe for concurrent use.
type Snapshots struct {
	hub         *informerhub.Hub
	targets     *cluster
	permissions rights
	relations   *Relations
	upstream    *Upstream
	filters     *filter.Compiler
}

// Query returns the query of a selection, restricted to a scope that the caller has the permission for.
func (s *Snapshots) Query(ctx context.Context, p selectionParams, related relation, scope auth.Namespaces) (informerhub.Query, error) {
	compiled, err := s.compile(ctx, p.filter)
	return informerhub.Query{
		Namespace:     p.namespace,
		LabelSelector: p.labelSelector,
		FieldSelector: p.fieldSelector,
		Namespaces:    restriction(scope),
		Related:       related.related,
		Filter:        compiled,
	}, err
}

// compile compiles a filter in the caller's processor slots, and charges the caller for it until ctx is
// done: once for all of its calls with the same filter. It must not be called before the caller is
// authorized. An empty text is no filter, nil.
func (s *Snapshots) compile(ctx context.Context, text string) (*filter.Filter, error) {
	compiled, err := s.filters.Compile(ctx, text)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, apierror.BadRequest("filter: %v", err)
	case err != nil || compiled == nil:
		return nil, err
	}
	return compiled, ledger.HoldShared(ctx, compiled, compiled.Bytes())
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
func (l listResult) coverage() (namespaces, warnings []string) {
	namespaces, warnings = coverageOf(l.access, l.scope)
	return namespaces, append(warnings, l.warnings...)
}

// Take takes a snapshot of the selected objects.
func (s *Snapshots) Take(ctx context.Context, params snapshotParams) (listResult, error) {
	return onResource(ctx, s.targets, params.resource, func(resource informerhub.Resource) (listResult, error) {
		access := params.accessOf(toList(resource, params.namespace, params.fieldSelector))
		scope, err := s.permissions.scope(ctx, edge.IdentityFrom(ctx), access)
		if err != nil {
			return listResult{}, err
		}
		if isLive(resource, params.consistency) {
			return s.latest(ctx, params, access, scope)
		}
		return s.cached(ctx, params, access, scope)
	})
}

func (s *Snapshots) cached(ctx context.Context, params snapshotParams, access accessRequest, scope auth.Namespaces) (listResult, error) {
	cache, err := s.hub.Cache(ctx, access.resource)
	if err != nil {
		return listResult{}, err
	}
	if err := awaitVersion(ctx, cache, params.minVersion); err != nil {
		return listResult{}, err
	}
	if err := notModified(ctx, cache, scope); err != nil {
		return listResult{}, err
	}
	found, err := s.selectionOf(ctx, cache, params, access, scope)
	if err != nil {
		return listResult{}, err
	}
	snapshot, err := cache.List(ctx, found.selection)
	return s.withSnapshot(ctx, found, snapshot, err)
}

// selectionOf compiles a selection of a cache. It does not take a snapshot.
func (s *Snapshots) selectionOf(ctx context.Context, cache *informerhub.Cache, params snapshotParams, access accessRequest, scope auth.Namespaces) (listResult, error) {
	related, err := s.relations.resolve(ctx, params.related, access.resource, params.consistency)
	if err != nil {
		return listResult{}, err
	}
	query, err := s.Query(ctx, params.selectionParams, related, scope)
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

// withSnapshot returns found with a snapshot of its selection, reduced to the objects that a
// relation's root owns.
func (s *Snapshots) withSnapshot(ctx context.Context, found listResult, snapshot informerhub.Snapshot, err error) (listResult, error) {
	if err != nil {
		return listResult{}, err
	}
	found.snapshot, found.warnings = snapshot, snapshot.Warnings
	found.snapshot.Objects, err = s.relations.ownedByRoot(ctx, found.related, snapshot.Objects)
	return found, err
}

// latest returns a snapshot of the selected objects, read at the API server.
func (s *Snapshots) latest(ctx context.Context, params snapshotParams, access accessRequest, scope auth.Namespaces) (listResult, error) {
	related, err := s.relations.resolve(ctx, params.related, access.resource, params.consistency)
	if err != nil {
		return listResult{}, err
	}
	return s.live(ctx, params, access, scope, related, "")
}

// live returns a snapshot of the selected objects, read at the API server at a version, or
// the latest one if version is empty.
func (s *Snapshots) live(ctx context.Context, params snapshotParams, access accessRequest, scope auth.Namespaces, related relation, version string) (listResult, error) {
	query, err := s.Query(ctx, params.selectionParams, related, scope)
	if err != nil {
		return listResult{}, err
	}
	reader, err := s.upstream.reader(ctx, access.resource, "list")
	if err != nil {
		return listResult{}, err
	}
	if params.readsMetadata {
		reader = reader.MetadataOnly()
	}
	snapshot, warnings, err := s.upstream.list(ctx, reader, query, version)
	if err != nil {
		return listResult{}, err
	}
	if err := s.targets.checkExists(ctx, access.resource, snapshot.Objects...); err != nil {
		return listResult{}, err
	}
	snapshot.Position, snapshot.Complete = informerhub.Position{Version: snapshot.ResourceVersion}, true
	if object.IsVersion(snapshot.ResourceVersion) {
		related.since = snapshot.ResourceVersion
	}
	if snapshot.Objects, err = s.relations.ownedByRoot(ctx, related, snapshot.Objects); err != nil {
		return listResult{}, err
	}
	return listResult{
		resource: access.resource, snapshot: snapshot, freshness: freshNow(),
		source: kubeconnectv1.Source_SOURCE_API_SERVER, warnings: warnings, unshared: true,
		access: access, scope: scope, related: related,
	}, nil
}
