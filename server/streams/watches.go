package streams

import (
	"cmp"
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/follow"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/sorted"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// Watches has the handlers of Watch, WatchMany and WatchCounts. Its methods are safe for concurrent use.
//
// A handler parses its request, begins an OpenStream, and runs one part, or several. The part owns everything else: see part.
type Watches struct {
	// Set once. What streams share is in the queues and the followers, which have locks of their own.
	hub        *informerhub.Hub
	targets    *target.Resolver
	clients    *auth.ClientFactory
	reads      *reads.Reads
	leases     access.Leases
	generation string // of resume tokens
	callers    *gate.Callers
	metrics    *observe.Metrics
	streams    *streamlife.Streams
	sending    *fairqueue.Queue // memory for the messages that streams send, by caller
	counted    *follow.Followers[counts.PlanKey, *counts.State]
	pages      *follow.Followers[sorted.OrderKey, *sorted.Objects]
	joinTurns  *fairqueue.Queue // turns to compute the joins of pages; see newJoinTurns
}

// Config configures watches. All fields but Streams are required.
type Config struct {
	Hub     *informerhub.Hub
	Targets *target.Resolver
	Clients *auth.ClientFactory
	Reads   *reads.Reads
	Leases  access.Leases
	// Generation is part of every resume token: a token of another generation leads to a snapshot.
	Generation string
	Callers    *gate.Callers
	Limits     gate.Limits
	Metrics    *observe.Metrics
	// Streams are the open watches. Default: streams without a maximum age.
	Streams *streamlife.Streams
	// Kept is charged for what is kept for callers.
	Kept *ledger.Ledger
}

// New returns the handlers of watches.
func New(config Config) *Watches {
	w := &Watches{
		hub: config.Hub, targets: config.Targets, clients: config.Clients, reads: config.Reads, leases: config.Leases,
		generation: config.Generation, callers: config.Callers, metrics: config.Metrics,
		streams:   cmp.Or(config.Streams, streamlife.NewStreams(0)),
		sending:   config.Metrics.Queue("stream_message_bytes", budget.NewMessageQueue()),
		counted:   follow.NewFollowers[counts.PlanKey, *counts.State](config.Kept),
		pages:     follow.NewFollowers[sorted.OrderKey, *sorted.Objects](config.Kept),
		joinTurns: config.Metrics.Queue("page_joins", newJoinTurns(config.Limits)),
	}
	config.Metrics.AddFollowers(w.counted.Use)
	config.Metrics.AddFollowers(w.pages.Use)
	return w
}

// Watch implements kubeconnect.v1.ResourceService.
func (w *Watches) Watch(ctx context.Context, request *kubeconnectv1.WatchRequest, stream kubeconnectv1connect.ResourceServiceWatchServerStream) error {
	params, err := ParseWatch(request)
	if err != nil {
		return err
	}
	ctx, open, end := w.streams.Begin(ctx, 1)
	defer end()
	sender := w.newSender(ctx, params, &streamlife.StreamPart{Stream: open}, outletTo(stream))
	return w.run(ctx, &watchPart{watches: w, params: params, sender: sender})
}

// newSender returns the sender of the events of a watch.
func (w *Watches) newSender(ctx context.Context, params WatchParams, of *streamlife.StreamPart, send outlet[*kubeconnectv1.WatchResponse]) *eventSender {
	return &eventSender{
		outlet: send, part: of, encoding: params.encoding, patches: params.patches, messages: call.WantsMessages(ctx),
		memory: budget.Messages{Queue: w.sending, Caller: call.CallerKey(call.IdentityFrom(ctx))}, metrics: w.metrics,
	}
}

// start starts a watch of the selected objects. While it waits for a snapshot, the sender sends
// messages that it waits. The caller has the lease before the first of these messages, and before
// anything is compiled or cached for it.
func (w *Watches) start(ctx context.Context, params WatchParams, sender watchSender) (*followedWatch, error) {
	return target.OnCached(ctx, w.targets, params.Resource, params.Namespace, func(resource informerhub.Resource) (*followedWatch, error) {
		if params.Name != "" {
			if err := target.CheckName(resource, params.Namespace, params.Name); err != nil {
				return nil, err
			}
		}
		access := params.AccessOf(access.ToWatch(resource, params.Namespace, params.Name, params.FieldSelector))
		lease, err := w.leases.Grant(ctx, access)
		if err != nil {
			return nil, err
		}
		waiting := &waitingWatch{waitingStream: waitingStream{lease: lease}, params: params}
		return sender.whileWaiting(ctx, waiting, func() (*followedWatch, error) { return w.follow(ctx, waiting) })
	})
}

// follow starts a watch in the scope of its lease. It runs in a goroutine of its own: see waitingStream. After an error it
// has released what it had taken.
func (w *Watches) follow(ctx context.Context, waiting *waitingWatch) (*followedWatch, error) {
	params, lease := waiting.params, waiting.lease
	resource := lease.Request.Resource

	// What the watch selects.
	related, err := w.reads.Relations.Resolve(ctx, params.Related, resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED)
	if err != nil {
		return nil, err
	}
	query, err := w.reads.Snapshots.Query(ctx, params.Selection, related, lease.Scope)
	if err != nil {
		return nil, err
	}
	started := &followedWatch{
		hub: w.hub, lease: lease, scope: lease.Scope, metadataOnly: params.MetadataOnly, query: query,
		tokens: w.tokensFor(resource, params, related).WithScope(lease.Scope),
	}
	started.query.Name, started.query.Fields = params.Name, params.Fields
	if params.page != nil {
		return w.followPage(ctx, waiting, started)
	}

	// Where it begins. A token of another watch is rejected before a cache is started for it.
	since, err := started.tokens.Read(params.resumeToken)
	if err != nil {
		return nil, err
	}

	// The cache, which the messages meanwhile report the freshness of, and then the watch itself.
	if started.cache, started.endCache, err = w.cacheToWatch(ctx, lease, started.query, params.ReadsMetadata && params.FieldSelector == ""); err != nil {
		return nil, err
	}
	waiting.cache.Store(started.cache)
	if started.kept, err = ledger.From(ctx).Charge(started.cache.WatcherBytes()); err != nil {
		started.endCache()
		return nil, err
	}
	if err := started.join(ctx, since, params.MinVersion); err != nil {
		started.kept.Release()
		started.endCache()
		return nil, err
	}
	return started, nil
}

// tokensFor returns the tokens of a watch in no scope. Everything that distinguishes the histories of two watches must be in
// them: a token that fits another history would make a client miss changes.
func (w *Watches) tokensFor(resource informerhub.Resource, params WatchParams, related reads.Relation) tokens.Watch {
	created := tokens.OfWatch(resource, params.hash).InGeneration(w.generation).RelatedBy(related.Texts())
	if params.page != nil {
		created = created.OfPage()
	}
	if params.patches != encode.WholeObject {
		created = created.OfPatches(params.encoding)
	}
	return created
}

// servesAgain reports whether a watch has ended only because the cluster now serves the named
// resource in another version, or because the CRD was recreated. The stream then continues with
// the resource as it is served now. A name that now means a resource of another group ends it.
func (w *Watches) servesAgain(ctx context.Context, err error, name string) bool {
	var gone *discovery.ResourceGoneError
	if !errors.As(err, &gone) {
		return false
	}
	resource, err := w.targets.Resolve(ctx, name)
	return err == nil && resource.GroupResource() == gone.Resource.GroupResource()
}

// run starts a part, and follows it until the client disconnects or the part ends.
func (w *Watches) run(ctx context.Context, p part) error {
	if err := p.start(ctx); err != nil {
		return err
	}
	return w.serve(ctx, p)
}

// serve follows a part that has started, until the client disconnects or the part ends. It returns why, and never nil.
func (w *Watches) serve(ctx context.Context, p part) error {
	for {
		err := p.follow(ctx)
		if !w.servesAgain(ctx, err, p.resourceName()) {
			return err
		}
		if err := p.start(ctx); err != nil {
			return err
		}
	}
}

// WatchCounts implements kubeconnect.v1.ResourceService.
func (w *Watches) WatchCounts(ctx context.Context, request *kubeconnectv1.WatchCountsRequest, stream kubeconnectv1connect.ResourceServiceWatchCountsServerStream) error {
	params, err := parseWatchCounts(request)
	if err != nil {
		return err
	}
	ctx, open, end := w.streams.Begin(ctx, 1)
	defer end()
	sender := w.newCountsSender(ctx, params, &streamlife.StreamPart{Stream: open}, outletTo(stream))
	return w.run(ctx, &countsPart{watches: w, params: params, sender: sender})
}

// newCountsSender returns the sender of live counts.
func (w *Watches) newCountsSender(ctx context.Context, params watchCountsParams, of *streamlife.StreamPart, send outlet[*kubeconnectv1.WatchCountsResponse]) *countsSender {
	return &countsSender{
		outlet: send, part: of, plan: params.plan, interval: params.interval,
		memory: budget.Messages{Queue: w.sending, Caller: call.CallerKey(call.IdentityFrom(ctx))}, asJSON: call.WantsMessages(ctx),
	}
}

// startCounts starts to follow the counts of the selected objects. While it waits for a snapshot, the
// sender sends responses that it waits.
func (w *Watches) startCounts(ctx context.Context, params watchCountsParams, sender *countsSender) (*liveCounts, error) {
	return target.OnCached(ctx, w.targets, params.Resource, params.Namespace, func(resource informerhub.Resource) (*liveCounts, error) {
		lease, err := w.leases.Grant(ctx, params.AccessOf(access.ToWatch(resource, params.Namespace, "", params.FieldSelector)))
		if err != nil {
			return nil, err
		}
		begin := &waitingStream{lease: lease}
		return sender.whileWaiting(ctx, begin, func() (*liveCounts, error) {
			related, err := w.reads.Relations.Resolve(ctx, params.Related, resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED)
			if err != nil {
				return nil, err
			}
			return w.followCounts(ctx, params, begin, related)
		})
	})
}

// rescopeCounts follows the counts in the current scope of the lease. It keeps the lease and the relation of the counts before,
// which are closed. The new counts must have reached their version, so that the client does not go back in time.
func (w *Watches) rescopeCounts(ctx context.Context, params watchCountsParams, sender *countsSender, before *liveCounts) (*liveCounts, error) {
	begin := &waitingStream{lease: before.lease}
	params.MinVersion, params.reached = "", before.at.Position.AtThrough(before.at.Version) // the stream has reached the former
	return sender.whileWaiting(ctx, begin, func() (*liveCounts, error) { return w.followCounts(ctx, params, begin, before.related) })
}

// followCounts follows the counts of the selected objects in the scope of the lease. Like follow, it runs in a goroutine of
// its own, and releases what it has taken after an error.
func (w *Watches) followCounts(ctx context.Context, params watchCountsParams, begin *waitingStream, related reads.Relation) (*liveCounts, error) {
	counted := &liveCounts{account: ledger.From(ctx), lease: begin.lease, scope: begin.lease.Scope, related: related}
	query, err := w.reads.Snapshots.Query(ctx, params.Selection, related, counted.scope)
	if err != nil {
		return nil, err
	}
	if counted.cache, counted.endCache, err = w.cacheToWatch(ctx, counted.lease, query, false); err != nil {
		return nil, err
	}
	begin.cache.Store(counted.cache)
	counted.keeping, _ = counted.account.Charge(0) // nothing fits always
	if err := w.joinCounts(ctx, params, counted, query); err != nil {
		counted.endCache()
		return nil, err
	}
	return counted, nil
}

// joinCounts joins the follower of the counts, and waits until it has reached the version that the
// stream must see. The cache must have reached that version before: a follower publishes what its cache
// has, and Reach does not wait for the cache.
func (w *Watches) joinCounts(ctx context.Context, params watchCountsParams, counted *liveCounts, query informerhub.Query) error {
	if err := target.AwaitVersion(ctx, counted.cache, params.MinVersion); err != nil {
		return err
	}
	selection, err := counted.cache.Select(ctx, query)
	if err != nil {
		return err
	}
	question := follow.Question[counts.PlanKey]{
		Cache: counted.cache, Selection: selection, State: params.plan.Key(),
		Account: counted.account, Private: !counted.lease.Request.Resource.Cacheable(),
	}
	counted.follower, err = w.counted.Join(ctx, question, func(grown func(int) error) *counts.State { return counts.NewState(params.plan, grown) })
	if err != nil {
		return err
	}
	// Any state is good enough for a new stream that needs no version.
	reached := params.reached
	if params.MinVersion != "" {
		reached = informerhub.Position{Version: params.MinVersion}
	}
	if reached.Version == "" {
		return nil
	}
	if err := counted.follower.Reach(ctx, reached); err != nil {
		counted.follower.Leave(counted.account)
		return err
	}
	return nil
}

// followPage starts a watch of a page in the scope of its lease. The stream is charged for the objects that it keeps, at the
// limit of the page; the sorted objects are charged by their follower.
func (w *Watches) followPage(ctx context.Context, waiting *waitingWatch, started *followedWatch) (*followedWatch, error) {
	// Where the page begins: as the request says, or as the token says. A token that names no position still has its page.
	position, held, err := started.tokens.ReadPage(waiting.params.resumeToken)
	if err != nil {
		return nil, err
	}
	cache, endCache, err := w.cacheToWatch(ctx, waiting.lease, started.query, false)
	if err != nil {
		return nil, err
	}
	waiting.cache.Store(cache)
	charge, err := ledger.From(ctx).Charge(waiting.params.page.limit * keptObjectBytes)
	if err != nil {
		endCache()
		return nil, err
	}
	started.cache, started.endCache = cache, func() { charge.Release(); endCache() }
	page, err := w.startPage(ctx, waiting, started, position, held)
	if err != nil {
		started.endCache()
		return nil, err
	}
	started.source = page
	return started, nil
}

// startPage returns the page of a watch, which has joined its follower: from then on it must be closed.
func (w *Watches) startPage(ctx context.Context, waiting *waitingWatch, started *followedWatch, position *informerhub.Position, held []byte) (*livePage, error) {
	page, err := w.newPage(ctx, waiting, started.cache)
	if err != nil {
		return nil, err
	}
	switch {
	case len(held) > 0:
		if err := page.resume(ctx, position, held); err != nil {
			return nil, err
		}
	case waiting.params.resumeToken != "": // of a newer format, so that the place of its page is not known
		page.state = &kubeconnectv1.PageState{}
	}
	started.query.Fields = nil // the sorted objects are shared by pages with other fields
	if page.selection, err = page.cache.Select(ctx, started.query); err != nil {
		return nil, err
	}
	return page, page.join(ctx)
}

// newPage returns a page of a cache, which has reached the version of the request.
func (w *Watches) newPage(ctx context.Context, waiting *waitingWatch, cache *informerhub.Cache) (*livePage, error) {
	params, lease := waiting.params, waiting.lease
	if err := target.AwaitVersion(ctx, cache, params.MinVersion); err != nil {
		return nil, err
	}
	joined, err := w.joinLive(ctx, params, lease)
	page := &livePage{
		pages: w.pages, cache: cache, isPrivate: !lease.Request.Resource.Cacheable(), account: ledger.From(ctx),
		params: *params.page, fields: params.Fields, joined: joined, reset: true,
	}
	if params.MinVersion != "" {
		page.reached = []informerhub.Position{{Version: params.MinVersion}}
	}
	return page, err
}

// joinLive returns the joins of a watch under its lease; nil for none.
func (w *Watches) joinLive(ctx context.Context, params WatchParams, lease *access.Lease) (*liveJoins, error) {
	if len(params.joins) == 0 {
		return nil, nil
	}
	l := &liveJoins{snapshots: w.reads.Snapshots, params: params, lease: lease, turns: w.joinTurns, account: ledger.From(ctx)}
	l.unsent, _ = l.account.Charge(0) // nothing fits always
	return l, l.resolve(ctx)
}

// cacheToWatch returns the cache that a stream follows, and a function that releases it with the
// stream. A resource that must not be cached has a private cache for the stream, which reads as the
// caller: nothing in it is seen by another caller.
func (w *Watches) cacheToWatch(ctx context.Context, lease *access.Lease, query informerhub.Query, metadataOnly bool) (*informerhub.Cache, func(), error) {
	resource := lease.Request.Resource
	if !resource.Watchable {
		return nil, nil, unwatchable(resource)
	}
	if resource.Cacheable() {
		cache, err := access.Cache(ctx, w.hub, lease.Request, lease.Scope)
		return cache, func() {}, err
	}
	private, err := w.hub.Private(ctx, resource, informerhub.PrivateOptions{
		Client: w.clients.For(lease.Caller.Identity).HTTP, Caller: call.CallerKey(lease.Caller.Identity),
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

// WatchMany implements kubeconnect.v1.ResourceService. Each watch, and each of the counts, has its own
// goroutine, which follows it. All of them have ended when WatchMany returns.
func (w *Watches) WatchMany(ctx context.Context, request *kubeconnectv1.WatchManyRequest, stream kubeconnectv1connect.ResourceServiceWatchManyServerStream) error {
	params, err := parseWatchMany(request)
	if err != nil {
		return err
	}

	// The limits: the gate has counted this stream as one, and each further part counts as a call and as a stream too.
	caller, more := call.CallerKey(call.IdentityFrom(ctx)), len(params.parts)-1
	if err := w.callers.Charge(caller, more); err != nil {
		return err
	}
	if err := w.callers.AcquireStreams(caller, more); err != nil {
		return err
	}
	defer w.callers.ReleaseStreams(caller, more)
	release, err := w.callers.HoldStreams(caller, call.CredentialKey(call.IdentityFrom(ctx)), more)
	if err != nil {
		return err
	}
	defer release()
	charge, err := ledger.From(ctx).Charge(len(params.parts) * partBytes)
	if err != nil {
		return err
	}
	defer charge.Release()

	// The parts. The stream ends with the first error that one of them has called end with, or without an error when all of
	// them have ended alone. A client that does not read is the reason before any error that follows from it.
	ctx, open, closeStream := w.streams.Begin(ctx, len(params.parts))
	defer closeStream()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	many := &manyStream{watches: w, params: params, open: open, sender: newManySender(stream, params), end: end}
	many.followAll(ctx)
	if why := streamlife.UnreadOf(ctx).Why(); why != nil {
		return why
	}
	return context.Cause(ctx)
}
