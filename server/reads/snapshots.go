package reads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/conditional"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// Snapshots takes snapshots of the objects that requests select, from the caches or at the API server. Its
// methods are safe for concurrent use.
//
// Whether a read uses a cache or the API server, the caller's permissions are checked first: no cache is started, and no filter
// is compiled, for a caller without permission.
type Snapshots struct {
	// Set once.
	hub         *informerhub.Hub
	targets     *target.Resolver
	permissions access.Permissions
	relations   *Relations
	upstream    *Upstream
	filters     *filter.Compiler
}

// Query returns the query of a selection, restricted to a scope that the caller has the permission for.
func (s *Snapshots) Query(ctx context.Context, p Selection, related Relation, scope auth.Namespaces) (informerhub.Query, error) {
	compiled, err := s.compile(ctx, p.filter)
	return informerhub.Query{
		Namespace:     p.Namespace,
		LabelSelector: p.labelSelector,
		FieldSelector: p.FieldSelector,
		Namespaces:    access.Restriction(scope),
		Related:       related.Related,
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

// Result is the snapshot of a selection, with its origin. It is a value, owned by one call.
type Result struct {
	resource informerhub.Resource
	Snapshot informerhub.Snapshot
	// freshness is the freshness of the snapshot when it was taken.
	freshness informerhub.Freshness
	source    kubeconnectv1.Source
	warnings  []string
	unshared  bool // no informer cache shares the objects
	access    access.Request
	scope     auth.Namespaces // the scope of the snapshot
	related   Relation
	// cache and selection are the source of the snapshot; nil for a list of the API server.
	cache     *informerhub.Cache
	selection *informerhub.Selection
}

// Coverage returns the namespaces that the snapshot covers, if these are not all, and all warnings
// for the response.
func (l Result) Coverage() (namespaces, warnings []string) {
	namespaces, warnings = access.Coverage(l.access, l.scope)
	return namespaces, append(warnings, l.warnings...)
}

// Take takes a snapshot of the selected objects.
func (s *Snapshots) Take(ctx context.Context, params SnapshotParams) (Result, error) {
	return target.OnCached(ctx, s.targets, params.Resource, params.Namespace, func(resource informerhub.Resource) (Result, error) {
		access := params.AccessOf(access.ToList(resource, params.Namespace, params.FieldSelector))
		access.Live = isLive(resource, params.consistency)
		scope, err := s.permissions.Scope(ctx, call.IdentityFrom(ctx), access)
		if err != nil {
			return Result{}, err
		}
		if access.Live {
			return s.latest(ctx, params, access, scope)
		}
		return s.cached(ctx, params, access, scope)
	})
}

// cached takes a snapshot of a cache, which has reached the version that the caller must see. A conditional read ends here, before
// the cache is read.
func (s *Snapshots) cached(ctx context.Context, params SnapshotParams, read access.Request, scope auth.Namespaces) (Result, error) {
	cache, err := access.Cache(ctx, s.hub, read, scope)
	if err != nil {
		return Result{}, err
	}
	if err := target.AwaitVersion(ctx, cache, params.MinVersion); err != nil {
		return Result{}, err
	}
	if err := notModified(ctx, cache, scope); err != nil {
		return Result{}, err
	}
	found, err := s.selectionOf(ctx, cache, params, read, scope)
	if err != nil {
		return Result{}, err
	}
	snapshot, err := cache.List(ctx, found.selection)
	return s.withSnapshot(ctx, found, snapshot, err)
}

// selectionOf compiles a selection of a cache. It does not take a snapshot: a later page takes the state at an earlier version.
func (s *Snapshots) selectionOf(ctx context.Context, cache *informerhub.Cache, params SnapshotParams, access access.Request, scope auth.Namespaces) (Result, error) {
	related, err := s.relations.Resolve(ctx, params.Related, access.Resource, params.consistency)
	if err != nil {
		return Result{}, err
	}
	query, err := s.Query(ctx, params.Selection, related, scope)
	if err != nil {
		return Result{}, err
	}
	selection, err := cache.Select(ctx, query)
	return Result{
		resource: cache.Resource(), source: kubeconnectv1.Source_SOURCE_CACHE, access: access, scope: scope, related: related,
		freshness: cache.Freshness(), // before the snapshot, because a filter may take long
		cache:     cache, selection: selection,
	}, err
}

// withSnapshot returns found with a snapshot of its selection, reduced to the objects that a
// relation's root owns. err is the error of the snapshot.
func (s *Snapshots) withSnapshot(ctx context.Context, found Result, snapshot informerhub.Snapshot, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	found.Snapshot, found.warnings = snapshot, snapshot.Warnings
	found.Snapshot.Objects, err = s.relations.ownedByRoot(ctx, found.related, snapshot.Objects)
	return found, err
}

// latest returns a snapshot of the selected objects as they are now: of a cache that has been shown to be current for a long list, and
// otherwise read at the API server.
func (s *Snapshots) latest(ctx context.Context, params SnapshotParams, read access.Request, scope auth.Namespaces) (Result, error) {
	cache, err := s.covering(ctx, read, scope, s.hub.Running)
	if err != nil {
		return Result{}, err
	}
	if cache != nil && cache.Count(params.Namespace) >= longList {
		if found, isNewest, err := s.newest(ctx, cache, params, read, scope); isNewest || err != nil {
			return found, err
		}
	}
	related, err := s.relations.Resolve(ctx, params.Related, read.Resource, params.consistency)
	if err != nil {
		return Result{}, err
	}
	found, err := s.live(ctx, params, read, scope, related, informerhub.Position{})
	if !apierrors.IsRequestEntityTooLargeError(err) || cache != nil {
		return found, err
	}
	// A list that is too large to be read at the API server is read from a cache, which is started for it.
	tooLarge := err
	if cache, err = s.covering(ctx, read, scope, s.hub.Cache); cache == nil || err != nil {
		return Result{}, cmp.Or(err, tooLarge)
	}
	found, isNewest, err := s.newest(ctx, cache, params, read, scope)
	if !isNewest {
		err = cmp.Or(err, tooLarge)
	}
	return found, err
}

const (
	// longList is the number of objects from which on a list of the latest state is answered by a cache. A shorter one is one request
	// to the API server, which takes it no longer than to show that the cache is current.
	longList = 500
	// newestTimeout is the time after which a list is read at the API server instead.
	newestTimeout = 5 * time.Second
)

// covering returns the cache of everything in a scope; nil if the service does not cache all of that, or if get returns nil.
func (s *Snapshots) covering(
	ctx context.Context, read access.Request, scope auth.Namespaces, get func(context.Context, informerhub.Resource, ...string) (*informerhub.Cache, error),
) (*informerhub.Cache, error) {
	if !read.Resource.Cacheable() || s.hub.Selected(read.Resource) != "" {
		return nil, nil
	}
	cache, err := access.CacheFrom(ctx, get, read, scope)
	var notCached *informerhub.ScopeError
	if errors.As(err, &notCached) {
		return nil, nil
	}
	return cache, err
}

// newest takes a snapshot of a cache that has everything that the API server has had when the call began. It reports false if the cache
// does not show that it has, in newestTimeout.
func (s *Snapshots) newest(
	ctx context.Context, cache *informerhub.Cache, params SnapshotParams, read access.Request, scope auth.Namespaces,
) (found Result, isNewest bool, err error) {
	asking, cancel := context.WithTimeout(ctx, newestTimeout)
	defer cancel()
	version, err := cache.Newest(asking)
	if err == nil {
		err = cache.Await(asking, version, newestTimeout)
	}
	switch {
	case ctx.Err() != nil:
		return Result{}, false, context.Cause(ctx)
	case err != nil:
		return Result{}, false, nil
	}
	current := freshNow()
	if found, err = s.selectionOf(ctx, cache, params, read, scope); err != nil {
		return Result{}, false, err
	}
	snapshot, err := cache.List(ctx, found.selection)
	found, err = s.withSnapshot(ctx, found, snapshot, err)
	found.freshness = current
	return found, err == nil, err
}

// live returns a snapshot of the selected objects, read at the API server at a position, or
// the latest one if that is zero.
func (s *Snapshots) live(ctx context.Context, params SnapshotParams, access access.Request, scope auth.Namespaces, related Relation, at informerhub.Position) (Result, error) {
	query, err := s.Query(ctx, params.Selection, related, scope)
	if err != nil {
		return Result{}, err
	}
	reader, err := s.upstream.reader(ctx, access.Resource, "list")
	if err != nil {
		return Result{}, err
	}
	if params.ReadsMetadata {
		reader = reader.MetadataOnly()
	}
	snapshot, warnings, err := s.upstream.list(ctx, reader, query, at)
	if err != nil {
		return Result{}, err
	}

	// The resource may have been recreated since discovery was read: then the objects are of another resource.
	if err := s.targets.CheckExists(ctx, access.Resource, snapshot.Objects...); err != nil {
		return Result{}, err
	}
	snapshot.Position, snapshot.Complete = informerhub.Position{Version: snapshot.ResourceVersion}, true
	// The owners in between are read from caches, which must not be older than the list.
	if object.IsVersion(snapshot.ResourceVersion) {
		related.since = snapshot.ResourceVersion
	}
	if snapshot.Objects, err = s.relations.ownedByRoot(ctx, related, snapshot.Objects); err != nil {
		return Result{}, err
	}
	return Result{
		resource: access.Resource, Snapshot: snapshot, freshness: freshNow(),
		source: kubeconnectv1.Source_SOURCE_API_SERVER, warnings: warnings, unshared: true,
		access: access, scope: scope, related: related,
	}, nil
}

// notModified returns an error that becomes a 304 if the client of a read by GET has the response that
// a cache would give now, for a caller with a scope. It must be called after the caller's permissions
// were checked, and before the cache is read. A stale cache gives a response of its own, because the
// client must learn that it is stale.
func notModified(ctx context.Context, cache *informerhub.Cache, scope auth.Namespaces) error {
	return conditional.Unchanged(ctx, func() (state string, ok bool) {
		return fmt.Sprintf("%+v %t %q", cache.Revision(), scope.All, scope.Names), !cache.Freshness().Stale
	})
}
