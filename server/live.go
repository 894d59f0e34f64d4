package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// maxLiveListBytes bounds a list that is read at the API server, because its objects are not shared
// with a cache.
const maxLiveListBytes = 128 << 20

const (
	// maxLiveLists bounds the lists that are read at one time. One caller can use a quarter of
	// them. Other lists wait.
	maxLiveLists  = 8
	liveListsPart = 4
	// maxLiveListsWaiting bounds the waiting lists of one caller.
	maxLiveListsWaiting = 64
	// livePatience is the time after which a waiting list is rejected.
	livePatience = 10 * time.Second
)

// newLiveLists returns the queue for slots to list at the API server.
func newLiveLists(limits edge.Limits) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "other lists", Total: maxLiveLists, PerKey: limits.Part(maxLiveLists, liveListsPart), Waiting: maxLiveListsWaiting})
}

// isLive reports whether a read goes to the API server.
func isLive(resource informerhub.Resource, consistency kubeconnectv1.Consistency) bool {
	return consistency == kubeconnectv1.Consistency_CONSISTENCY_LATEST || !resource.Cacheable()
}

// live returns a reader of a resource at the API server, as the caller. If the API server does not
// offer the verb, the error is MethodNotAllowed, not NotFound.
func (c *cluster) live(ctx context.Context, resource informerhub.Resource, verb string) (*informerhub.Live, error) {
	if !resource.Watchable {
		offering, err := c.hub.Resolver().Subresources(ctx, resource, verb)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(offering, "") {
			return nil, apierrors.NewMethodNotSupported(resource.GroupResource(), verb)
		}
	}
	return c.hub.Live(resource, reservingClient(ctx, c.clients.For(edge.IdentityFrom(ctx)).HTTP))
}

// selectLatest returns a snapshot of the selected objects, read at the API server.
func (r *reads) selectLatest(ctx context.Context, params snapshotParams, access accessRequest, scope auth.Namespaces) (listResult, error) {
	related, err := r.relate(ctx, params.related, access.resource, params.consistency)
	if err != nil {
		return listResult{}, err
	}
	return r.selectLive(ctx, params, access, scope, related, "")
}

// selectLive returns a snapshot of the selected objects, read at the API server at a version, or
// the latest one if version is empty.
func (r *reads) selectLive(ctx context.Context, params snapshotParams, access accessRequest, scope auth.Namespaces, related relation, version string) (listResult, error) {
	query, err := r.query(ctx, params.selectionParams, related, scope)
	if err != nil {
		return listResult{}, err
	}
	live, err := r.live(ctx, access.resource, "list")
	if err != nil {
		return listResult{}, err
	}
	if params.readsMetadata {
		live = live.MetadataOnly()
	}
	snapshot, warnings, err := r.listLive(ctx, live, query, version)
	if err != nil {
		return listResult{}, err
	}
	if err := r.checkExists(ctx, access.resource, snapshot.Objects...); err != nil {
		return listResult{}, err
	}
	snapshot.Position, snapshot.Complete = informerhub.Position{Version: snapshot.ResourceVersion}, true
	if isVersion(snapshot.ResourceVersion) {
		related.since = snapshot.ResourceVersion
	}
	if snapshot.Objects, err = r.ownedByRoot(ctx, related, snapshot.Objects); err != nil {
		return listResult{}, err
	}
	return listResult{
		resource: access.resource, snapshot: snapshot, freshness: freshNow(),
		source: kubeconnectv1.Source_SOURCE_API_SERVER, warnings: warnings, unshared: true,
		access: access, scope: scope, related: related,
	}, nil
}

// listLive waits for a slot and lists.
func (r *reads) listLive(ctx context.Context, live *informerhub.Live, query informerhub.Query, version string) (informerhub.Snapshot, []string, error) {
	release, err := r.acquireLiveSlot(ctx)
	if err != nil {
		return informerhub.Snapshot{}, nil, err
	}
	defer release()
	list := live.List
	if version != "" {
		list = func(ctx context.Context, query informerhub.Query, limit int) (informerhub.Snapshot, []string, error) {
			return live.ListAt(ctx, query, version, limit)
		}
	}
	snapshot, warnings, err := list(ctx, query, maxLiveListBytes)
	return snapshot, warnings, liveError(ctx, err)
}

// acquireLiveSlot waits for a slot to list at the API server.
func (r *reads) acquireLiveSlot(ctx context.Context) (release func(), err error) {
	release, err = r.liveLists.AcquireWithin(ctx, edge.CallerKey(edge.IdentityFrom(ctx)), 1, livePatience)
	switch {
	case err == nil:
		return release, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("waiting for a slot to list at the API server: %w", context.Cause(ctx))
	}
	return nil, busy(edge.LimitUpstreamLists, "too many lists are being read at the API server, by you or in all")
}

// cacheToWatch returns the cache that a stream follows, and a function that releases it with the
// stream. A resource that must not be cached has a private cache for the stream.
func (w *watches) cacheToWatch(ctx context.Context, lease *accessLease, query informerhub.Query, metadataOnly bool) (*informerhub.Cache, func(), error) {
	resource := lease.request.resource
	if !resource.Watchable {
		return nil, nil, unwatchable(resource)
	}
	if resource.Cacheable() {
		cache, err := w.hub.Cache(ctx, resource)
		return cache, func() {}, err
	}
	private, err := w.hub.Private(ctx, resource, informerhub.PrivateOptions{
		Client: w.clients.For(lease.caller.Identity).HTTP, Caller: edge.CallerKey(lease.caller.Identity),
		Query: query, MetadataOnly: metadataOnly,
	})
	if err != nil {
		return nil, nil, err
	}
	return private.Cache, private.End, nil
}

// sourceOf returns the source of a stream's objects.
func sourceOf(resource informerhub.Resource) kubeconnectv1.Source {
	if resource.Cacheable() {
		return kubeconnectv1.Source_SOURCE_CACHE
	}
	return kubeconnectv1.Source_SOURCE_API_SERVER
}

func unwatchable(resource informerhub.Resource) error {
	return apierror.Failure(metav1.StatusReasonMethodNotAllowed,
		"%s cannot be watched, because the API server does not offer it: call List or Get at an interval", resource.Name)
}
