package reads

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// continuation creates the list that a later page is taken from: the state of a cache at the list's
// version, or the API server's list at exactly that version. It is owned by one call.
//
// The replica that serves a page need not have served the page before. Its cache can be behind the version of the list (see
// await), or have dropped the states of that time: then the API server is asked, which keeps them for some minutes. A page is
// never taken from another version. If the list cannot be continued, the error says so, and the caller lists again.
type continuation struct {
	lists  *Lists
	params listParams
	token  tokens.Page

	// Set by list, under the caller's current permissions.
	access access.Request
	scope  auth.Namespaces // the namespaces that the list covers; see tokens.Page.Within
}

// list returns the list, for a caller that can read all of it.
func (c *continuation) list(ctx context.Context, resource informerhub.Resource) (list *pagedList, err error) {
	c.access = c.params.AccessOf(access.ToList(resource, c.params.Namespace, c.params.FieldSelector))
	// A list without a version that can be asked for is read again at the API server, and must have the same hash.
	c.access.Live = isLive(resource, c.params.consistency) || !tokens.PinsObjects(c.token.Position.Version)
	if c.scope, err = c.lists.permissions.Scope(ctx, call.IdentityFrom(ctx), c.access); err != nil {
		return nil, err
	}
	// Namespaces that the caller has gained since the first page are left out. If the caller has lost some, check fails.
	c.scope = c.token.Within(c.scope, c.access.Indivisible)

	if c.access.Live {
		if list := c.fromCovering(ctx); list != nil {
			return list, nil
		}
		related, err := c.lists.snapshots.relations.Resolve(ctx, c.params.Related, resource, c.params.consistency)
		if err != nil {
			return nil, err
		}
		return c.fromAPIServer(ctx, related)
	}
	cache, err := access.Cache(ctx, c.lists.hub, c.access, c.scope)
	if err != nil {
		return nil, err
	}
	return c.fromCache(ctx, cache)
}

// fromCovering returns a list of the latest state from the cache that its first page may be from; nil if there is no such cache, or if
// it does not have the list's version.
func (c *continuation) fromCovering(ctx context.Context) *pagedList {
	if c.cachedFor(ctx) != nil || !tokens.PinsObjects(c.token.Position.Version) {
		return nil
	}
	cache, err := c.lists.snapshots.covering(ctx, c.access, c.scope, c.lists.hub.Running)
	if cache == nil || err != nil || cache.Count(c.params.Namespace) < longList {
		return nil
	}
	list, err := c.fromCache(ctx, cache)
	if err != nil {
		return nil // the API server has the list, or its error
	}
	return list
}

// check rejects a list that is not the same as at its first page: with another API version, scope or related object, the last
// object of the page before would say nothing about the next page.
func (c *continuation) check(related Relation) error {
	if c.token.Served != c.lists.servedAs(c.access.Resource, c.scope, related) {
		return errPageChanged
	}
	return nil
}

// fromCache returns the list from a cache, or from the API server if the cache no longer has the state at the list's version.
func (c *continuation) fromCache(ctx context.Context, cache *informerhub.Cache) (*pagedList, error) {
	if err := c.await(ctx, cache); err != nil {
		return nil, err
	}
	found, err := c.lists.snapshots.selectionOf(ctx, cache, c.params.SnapshotParams, c.access, c.scope)
	if err != nil {
		return nil, err
	}
	if err := c.check(found.related); err != nil {
		return nil, err
	}
	list, err := c.take(ctx, found)
	switch {
	case errors.Is(err, informerhub.ErrUndone):
		return nil, errPageUndone
	case errors.Is(err, informerhub.ErrForgotten):
		list, err = c.fromAPIServer(ctx, found.related)
		if apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			// The caller did not request a list from the API server, and may only be able to read
			// the cache.
			err = errPageExpired
		}
		if err == nil {
			list.freshness = found.freshness // the caller asked for the cache: the list is as old as its first page
		}
	}
	return list, err
}

// await waits until the cache has all changes up to the list's version. A deletion at that version that this replica does not
// know yet would let a later page contain an object that the first page has left out.
func (c *continuation) await(ctx context.Context, cache *informerhub.Cache) error {
	err := cache.AwaitPosition(ctx, c.token.Position, target.VersionTimeout)
	switch {
	case errors.Is(err, informerhub.ErrUndone):
		return errPageUndone
	case apierrors.IsTimeout(err):
		return errPageAhead
	case err != nil || c.token.Incomplete:
		return err
	}
	complete, err := cache.AwaitComplete(ctx, c.token.Position, completeTimeout)
	if err == nil && !complete {
		err = errPageIncomplete
	}
	return err
}

// take returns the objects of a selection as they were at the list's version, starting after the
// token's last object where the order allows it.
func (c *continuation) take(ctx context.Context, found Result) (*pagedList, error) {
	// In the default order the cache reads on from the last object, and reads no more than a page.
	if c.params.order.Paths() == 0 && found.related.owner == nil {
		limit, maxBytes := pageLimits(c.params)
		objects, more, err := found.cache.ListBehind(ctx, found.selection, c.token.Position, c.token.Last, limit, maxBytes)
		found.Snapshot = informerhub.Snapshot{Objects: objects}
		return &pagedList{Result: found, token: c.token, more: more}, err
	}

	// Otherwise all objects are needed to know which follow. The cached names save sorting them again.
	if err := found.cache.Holds(c.token.Position); err != nil {
		return nil, err
	}
	if cached, ok := c.lists.cache.find(c.token.KeyFor(call.IdentityFrom(ctx))); ok && !cached.unshared {
		return c.takeByName(ctx, found, cached.names)
	}
	snapshot, err := found.cache.ListAt(ctx, found.selection, c.token.Position)
	if found, err = c.lists.snapshots.withSnapshot(ctx, found, snapshot, err); err != nil {
		return nil, err
	}
	return c.wholeOf(found), nil
}

// takeByName returns the objects that follow the token's last object in a list whose names are
// cached.
func (c *continuation) takeByName(ctx context.Context, found Result, names []informerhub.ObjectName) (*pagedList, error) {
	pageNames, err := itemsAfter(c.token, names, func(name informerhub.ObjectName) informerhub.ObjectName { return name })
	if err != nil {
		return nil, err
	}
	limit, maxBytes := pageLimits(c.params)
	objects, err := found.cache.ListNamed(ctx, c.token.Position, pageNames[:min(limit, len(pageNames))], maxBytes)
	found.Snapshot = informerhub.Snapshot{Objects: objects}
	return &pagedList{Result: found, token: c.token, more: len(objects) < len(pageNames)}, err
}

// fromAPIServer returns the API server's list at exactly the list's version.
func (c *continuation) fromAPIServer(ctx context.Context, related Relation) (*pagedList, error) {
	if err := c.check(related); err != nil {
		return nil, err
	}
	if cached := c.cachedFor(ctx); cached != nil {
		return cached, nil
	}
	var at informerhub.Position // the latest
	if tokens.PinsObjects(c.token.Position.Version) {
		at = c.token.Position
	}
	found, err := c.lists.snapshots.live(ctx, c.params.SnapshotParams, c.access, c.scope, related, at)
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return nil, errPageExpired
	case err != nil:
		return nil, err
	}
	return c.wholeOf(found), nil
}

// wholeOf returns a complete list, which is still to be sorted, and to be compared with the hash of the first page.
func (c *continuation) wholeOf(found Result) *pagedList {
	found.warnings = nil // the first page had them
	return &pagedList{Result: found, token: c.token, complete: true, order: c.params.order, hashed: c.token.Objects != ""}
}

// cachedFor returns the cached list of the API server, or nil if it is not cached. It is in its order already, and it is the list
// of the first page, so it needs no hash.
func (c *continuation) cachedFor(ctx context.Context) *pagedList {
	found, ok := c.lists.cache.find(c.token.KeyFor(call.IdentityFrom(ctx)))
	if !ok || !found.unshared {
		return nil
	}
	found.freshness = c.lists.hub.Freshness() // the list can be older
	return &pagedList{Result: found.Result, token: c.token, complete: true}
}

var (
	errPageExpired = apierrors.NewResourceExpired(
		"the list has expired: its version is no longer available in the service and the API server; list again from the first page")
	errPageUndone = apierrors.NewResourceExpired(
		"the list has expired: its history has been undone, as by a restored backup; list again from the first page")
	errPageNotKept = apierrors.NewResourceExpired(
		"the list has expired: it was read from the API server, and there was no memory to cache it for its next pages; list again from the first page, " +
			"with larger pages or fewer objects")
	errPageIncomplete = apierror.Failure(metav1.StatusReasonServiceUnavailable,
		"this replica does not know all deletions at the list's version yet: retry")
	errPageAhead = apierror.Failure(metav1.StatusReasonServiceUnavailable,
		"this replica has not reached the list's version yet: retry")
	errPageChanged = apierrors.NewResourceExpired(
		"the list has changed since its first page: the namespaces that you can read, the related object or the version of the " +
			"resource is different now; list again from the first page")
)
