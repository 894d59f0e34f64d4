package server

import (
	"context"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// query returns the query of a selection, restricted to a scope that the caller has the permission for.
func (r *reads) query(ctx context.Context, p selectionParams, related relation, scope auth.Namespaces) (informerhub.Query, error) {
	compiled, err := r.compile(ctx, p.filter)
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
func (r *reads) compile(ctx context.Context, text string) (*filter.Filter, error) {
	compiled, err := r.filters.Compile(ctx, text)
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
func (s listResult) coverage() (namespaces, warnings []string) {
	namespaces, warnings = coverageOf(s.access, s.scope)
	return namespaces, append(warnings, s.warnings...)
}

// takeSnapshot takes a snapshot of the selected objects.
func (r *reads) takeSnapshot(ctx context.Context, params snapshotParams) (listResult, error) {
	return onResource(ctx, r.cluster, params.resource, func(resource informerhub.Resource) (listResult, error) {
		access := params.accessOf(toList(resource, params.namespace, params.fieldSelector))
		scope, err := r.rights.scope(ctx, edge.IdentityFrom(ctx), access)
		if err != nil {
			return listResult{}, err
		}
		if isLive(resource, params.consistency) {
			return r.selectLatest(ctx, params, access, scope)
		}
		return r.selectCached(ctx, params, access, scope)
	})
}

func (r *reads) selectCached(ctx context.Context, params snapshotParams, access accessRequest, scope auth.Namespaces) (listResult, error) {
	cache, err := r.hub.Cache(ctx, access.resource)
	if err != nil {
		return listResult{}, err
	}
	if err := awaitVersion(ctx, cache, params.minVersion); err != nil {
		return listResult{}, err
	}
	if err := notModified(ctx, cache, scope); err != nil {
		return listResult{}, err
	}
	found, err := r.selectionOf(ctx, cache, params, access, scope)
	if err != nil {
		return listResult{}, err
	}
	snapshot, err := cache.List(ctx, found.selection)
	return r.withSnapshot(ctx, found, snapshot, err)
}

// selectionOf compiles a selection of a cache. It does not take a snapshot.
func (r *reads) selectionOf(ctx context.Context, cache *informerhub.Cache, params snapshotParams, access accessRequest, scope auth.Namespaces) (listResult, error) {
	related, err := r.relate(ctx, params.related, access.resource, params.consistency)
	if err != nil {
		return listResult{}, err
	}
	query, err := r.query(ctx, params.selectionParams, related, scope)
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
func (r *reads) withSnapshot(ctx context.Context, found listResult, snapshot informerhub.Snapshot, err error) (listResult, error) {
	if err != nil {
		return listResult{}, err
	}
	found.snapshot, found.warnings = snapshot, snapshot.Warnings
	found.snapshot.Objects, err = r.ownedByRoot(ctx, found.related, snapshot.Objects)
	return found, err
}
