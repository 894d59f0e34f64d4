package reads

import (
	"context"
	"math"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/conditional"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/joins"
	"github.com/kubeconnect/kubeconnect/server/sorted"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// listParams are the parsed fields of a request for a page of a list.
type listParams struct {
	SnapshotParams
	order     sorted.Order
	pageSize  int    // 0 for as many objects as fit
	pageToken string // empty for the first page
	query     string // see QueryOf
	view      encode.View
	joins     []JoinParams
}

// parseList parses a request. It does not parse the page token, which is checked together with the query.
func parseList(ctx context.Context, request *kubeconnectv1.ListRequest) (p listParams, err error) {
	if err := encode.Check(request.GetEncoding()); err != nil {
		return listParams{}, err
	}
	if request.GetPageSize() < 0 {
		return listParams{}, apierror.BadRequest("invalid page_size %d: give 0 or more", request.GetPageSize())
	}
	p = listParams{pageSize: int(request.GetPageSize()), pageToken: request.GetPageToken(), query: tokens.QueryOf(request)}
	p.view = encode.View{Encoding: request.GetEncoding(), Messages: call.WantsMessages(ctx)}
	if p.view.Fields, err = encode.Fields(request.GetFields(), request.GetMetadataOnly()); err != nil {
		return listParams{}, err
	}
	if p.order, err = sorted.Parse(request.GetOrderBy()); err != nil {
		return listParams{}, err
	}
	p.SnapshotParams, err = parseSnapshot(request)
	if request.GetMetadataOnly() {
		p.Selection = p.OfMetadata()
	}
	// An order and joins can read any field, also if only the metadata is returned.
	p.ReadsMetadata = p.ReadsMetadata && p.order.Paths() == 0 && len(request.GetJoins()) == 0
	if err != nil {
		return listParams{}, err
	}
	p.joins, err = parseListJoins(request)
	p.view.Joined = joinedBytes(p.joins)
	return p, err
}

// Lists has the handler of List. Its methods are safe for concurrent use.
//
// All pages of a list show the objects as they were at the version of its first page. No state is needed for that: the token
// of a page says which list it continues, and any replica finds the state at that version in its cache, or at the API server.
// The cache of lists only saves work.
type Lists struct {
	// Set once.
	hub         *informerhub.Hub
	targets     *target.Resolver
	permissions access.Permissions
	snapshots   *Snapshots
	generation  string // of page tokens
	cache       *listCache
}

// List implements kubeconnect.v1.ResourceService.
func (l *Lists) List(ctx context.Context, request *kubeconnectv1.ListRequest) (*kubeconnectv1.ListResponse, error) {
	params, err := parseList(ctx, request)
	if err != nil {
		return nil, err
	}
	list, err := l.listFor(ctx, params)
	if err != nil {
		return nil, err
	}
	if err := l.join(ctx, list, params); err != nil {
		return nil, err
	}

	// The memory is reserved once, for sorting, for the page, and for its joins. Nothing waits for memory after that.
	if err := budget.ReserveResponse(ctx, list.memoryToSort()+params.view.Memory(list.candidates(params.pageSize))+list.joined.Memory()); err != nil {
		return nil, err
	}
	if err := l.followOwners(ctx, list, params); err != nil {
		return nil, err
	}
	return l.respondWithPage(ctx, list, params)
}

// listFor returns the list that a page is taken from. A request without a page token starts a new
// list. The permissions are checked for each page, by Take or by the continuation.
func (l *Lists) listFor(ctx context.Context, params listParams) (*pagedList, error) {
	if params.pageToken != "" {
		return l.continued(ctx, params)
	}
	found, err := l.snapshots.Take(ctx, params.SnapshotParams)
	if err != nil {
		return nil, err
	}
	if found, err = l.completed(ctx, found, params); err != nil {
		return nil, err
	}
	return l.firstOf(found, params), nil
}

// respondWithPage builds a page of a list, and sorts the list first if necessary. It is the last step of the call: the processor
// slot lasts until the response is written.
func (l *Lists) respondWithPage(ctx context.Context, list *pagedList, params listParams) (*kubeconnectv1.ListResponse, error) {
	long := list.isLongToSort() || len(params.joins) > 0 || budget.IsLong(list.candidates(params.pageSize))
	return budget.RespondInSlot(ctx, long, func(ctx context.Context) (*kubeconnectv1.ListResponse, error) {
		if err := list.arrange(ctx); err != nil {
			return nil, err
		}
		return l.page(ctx, list, params)
	})
}

// page builds a page of a list that is arranged.
func (l *Lists) page(ctx context.Context, list *pagedList, params listParams) (*kubeconnectv1.ListResponse, error) {
	namespaces, warnings := list.Coverage()
	warnings, list.freshness = append(warnings, list.relater.AllWarnings()...), list.relater.Freshness(list.freshness)
	response := &kubeconnectv1.ListResponse{
		Resource:        encode.ShownKind(encode.Kind(list.resource), params.MetadataOnly),
		ResourceVersion: list.token.Position.Version,
		Freshness:       encode.Freshness(list.freshness),
		Source:          list.source,
		Warnings:        warnings,
		Namespaces:      namespaces,
	}
	objects, err := list.next()
	if err != nil {
		return nil, err
	}
	added, err := addPage(ctx, response, onePage(objects, params.pageSize), params.view, list.joined)
	response.Warnings = append(response.Warnings, list.joined.Warnings()...)
	call.NoteObjects(ctx, added)
	NoteJoined(ctx, list.joined)
	if err != nil || added == len(objects) && !list.more {
		return response, err // the last page
	}
	next := list.nextToken(objects, added)
	response.RemainingItemCount, response.NextPageToken = int64(next.Left), next.Write()
	if !l.cacheList(ctx, list, params) && list.unshared && !list.first {
		return nil, errPageNotKept // the next page would need another complete list of the API server
	}
	return response, nil
}

// addPage adds to response as many objects as fit in a page, and at least one, with the results of
// joins. It returns the number added.
func addPage(ctx context.Context, response *kubeconnectv1.ListResponse, objects []*informerhub.Object, view encode.View, joined *joins.Page) (int, error) {
	page := make([]byte, 0, view.Capacity(objects))
	var results []byte // of the joins of one object
	count := 0
	for _, object := range objects {
		if err := budget.YieldEvery(ctx, count); err != nil {
			return 0, err
		}
		more, full, err := joined.Append(ctx, results[:0], object)
		if err != nil {
			return 0, err
		}
		if results = more; full {
			break // the joins of one page have a bound of their own
		}
		// The first object is added whatever its size is, so that each page leads further.
		limit := encode.MaxPageBytes
		if count == 0 {
			limit = math.MaxInt
		}
		longer, ok := encode.AppendListed(page, object, results, view, limit)
		if !ok {
			break
		}
		page = longer
		count++
	}
	conditional.SetEncoded(ctx, response, page, view.Messages)
	return count, nil
}

// firstOf returns the list that begins with a snapshot. Its token has everything by which a later page recognizes the list. The
// hash of the objects is part of it where the version does not determine them: the API server has given no version that can be asked
// for, or the objects also depend on owners in other caches.
func (l *Lists) firstOf(found Result, params listParams) *pagedList {
	list := &pagedList{Result: found, first: true, complete: true, order: params.order}
	list.token = tokens.Page{
		Query: params.query, Served: l.servedAs(found.resource, found.scope, found.related),
		Namespaces: tokens.Namespaces(found.scope),
		Position:   found.Snapshot.Position, Incomplete: !found.Snapshot.Complete,
		Left: uint64(len(found.Snapshot.Objects)),
	}
	list.hashed = !tokens.PinsObjects(list.token.Position.Version) || found.related.owner != nil
	return list
}

// ServedAs returns the part of a page token that must be equal for all pages of a list; see tokens.ServedAs.
func (l *Lists) servedAs(resource informerhub.Resource, scope auth.Namespaces, related Relation) string {
	requested, found := related.Texts()
	return tokens.ServedAs(resource.Version, l.generation, scope, requested, found)
}

// completed returns a snapshot with all changes at its version if the list may need more than one
// page, because other replicas may know of more deletions at that version. If the API server does
// not confirm the version in time, it returns the snapshot unchanged. Its token says so, and later pages do
// not wait for the deletions either: see tokens.Page.Incomplete.
func (l *Lists) completed(ctx context.Context, found Result, params listParams) (Result, error) {
	if found.Snapshot.Complete || !mayHaveMore(found.Snapshot.Objects, params) {
		return found, nil
	}
	complete, err := found.cache.AwaitComplete(ctx, found.Snapshot.Position, completeTimeout)
	if err != nil || !complete {
		return found, err
	}
	snapshot, err := found.cache.ListAt(ctx, found.selection, found.Snapshot.Position)
	if isPast(err) {
		return found, nil
	}
	return l.snapshots.withSnapshot(ctx, found, snapshot, err)
}

// mayHaveMore reports whether objects may not fit in one page. It is an estimate, made before the objects are encoded: a list that
// is completed without need waits for nothing but the confirmation of its version.
func mayHaveMore(objects []*informerhub.Object, params listParams) bool {
	return params.pageSize > 0 && len(objects) > params.pageSize || 3*params.view.Capacity(objects) > encode.MaxPageBytes
}

// continued returns the list of a page token, for a caller that can read all of it.
func (l *Lists) continued(ctx context.Context, params listParams) (*pagedList, error) {
	token, err := tokens.ReadPage(params.pageToken, params.query)
	if err != nil {
		return nil, err
	}
	return target.OnCached(ctx, l.targets, params.Resource, params.Namespace, func(resource informerhub.Resource) (*pagedList, error) {
		c := &continuation{lists: l, params: params, token: token}
		return c.list(ctx, resource)
	})
}

// cacheList caches a list that is expensive to create and of which another page may be requested.
// It reports whether the next page takes no longer than this page. A list in the default order of a
// cache needs no entry: the next page begins in the cache at the last object of this page.
func (l *Lists) cacheList(ctx context.Context, list *pagedList, params listParams) bool {
	if !list.complete || params.order.Paths() == 0 && !list.unshared && list.related.owner == nil {
		return true
	}
	identity := call.IdentityFrom(ctx)
	return l.cache.add(list.token.KeyFor(identity), call.CallerKey(identity), list.Result)
}

// join adds the joins of a page to a list, for what the caller can read. They reserve the memory of their results without
// waiting, because the call holds memory when they are computed.
func (l *Lists) join(ctx context.Context, list *pagedList, params listParams) error {
	if len(params.joins) == 0 {
		return nil
	}
	list.relater = l.snapshots.Relater(params.Selection, list.resource, func(ctx context.Context, read access.Request) (access.RelatedScope, error) {
		return l.permissions.ScopeOfRelated(ctx, call.IdentityFrom(ctx), read)
	})
	resolved, err := list.relater.ResolveAll(ctx, params.joins)
	list.joined = joins.NewPage(resolved, budget.ReserveMore)
	return err
}

// followOwners resolves the kinds of owners between the objects of a page and their related objects.
// It sorts the list first if necessary, because only then the objects of the page are known. It does
// not run in the slot of the response: it can wait for caches.
func (l *Lists) followOwners(ctx context.Context, list *pagedList, params listParams) error {
	if !list.joined.FollowsOwners() {
		return nil
	}
	rows, err := budget.InSlotIf(ctx, list.isLongToSort(), func(ctx context.Context) ([]*informerhub.Object, error) {
		if err := list.arrange(ctx); err != nil {
			return nil, err
		}
		return list.rowsFor(params)
	})
	if err != nil {
		return err
	}
	return list.relater.FollowOwners(ctx, list.joined, rows)
}
