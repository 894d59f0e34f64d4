package streams

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
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
type Watches struct {
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

// WatchParams are the parsed fields of a request for a watch.
type WatchParams struct {
	reads.Selection
	Name        string // empty for all objects that match
	Fields      *mask.Mask
	encoding    kubeconnectv1.Encoding
	patches     kubeconnectv1.PatchFormat
	page        *pageParams        // nil for all objects
	joins       []reads.JoinParams // of the objects of the page
	resumeToken string             // validated when the watch has its resource; see tokens.read
	hash        [sha256.Size]byte  // of what the watch selects, without the resource
}

func ParseWatch(request *kubeconnectv1.WatchRequest) (p WatchParams, err error) {
	if err := errors.Join(encode.Check(request.GetEncoding()), encode.CheckPatches(request.GetPatchFormat(), request.GetEncoding())); err != nil {
		return WatchParams{}, err
	}
	if err := checkWatchedRelation(request.GetRelated()); err != nil {
		return WatchParams{}, err
	}
	p = WatchParams{Name: request.GetName(), encoding: request.GetEncoding(), patches: request.GetPatchFormat(), resumeToken: request.GetResumeToken()}
	if p.Fields, err = encode.Fields(request.GetFields(), request.GetMetadataOnly()); err != nil {
		return WatchParams{}, err
	}
	if p.page, err = parsePage(request); err != nil {
		return WatchParams{}, err
	}
	if p.joins, err = reads.ParseWatchJoins(request); err != nil {
		return WatchParams{}, err
	}
	p.Selection, err = reads.ParseSelection(request)
	if request.GetMetadataOnly() {
		p.Selection = p.OfMetadata()
	}
	p.hash = hashSelection(request, p.Fields, p.page)
	return p, err
}

// checkWatchedRelation rejects a relation that a stream cannot follow.
func checkWatchedRelation(related *kubeconnectv1.Relation) error {
	if related.GetTransitive() {
		return apierror.BadRequest("related.transitive is not supported by a watch, which cannot follow owners that are created and deleted: use SELECTED_BY to select the pods of a deployment")
	}
	return nil
}

// hashSelection returns a hash of the fields of a request that determine which objects a watch
// selects, and what it sends of them. The resource is left out, because it has several spellings,
// and the relation, which is known when it is resolved. The result is a part of the format of tokens:
// a change of it for a request that exists is a new format, see NewestFormat.
func hashSelection(request *kubeconnectv1.WatchRequest, fields *mask.Mask, page *pageParams) [sha256.Size]byte {
	selects := proto.CloneOf(request)
	if fields != nil {
		selects.Fields = []string{fields.String()}
	}
	selects.Resource, selects.Related = "", nil
	selects.ResumeToken, selects.MinResourceVersion, selects.RequireAllNamespaces = "", "", false // they select nothing
	selects.Limit, selects.Offset, selects.After = min(selects.GetLimit(), 1), 0, nil             // a page can be scrolled
	if page != nil {
		selects.OrderBy = page.order.String()
	}
	selects.Encoding, selects.PatchFormat = kubeconnectv1.Encoding_ENCODING_UNSPECIFIED, encode.WholeObject
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(selects)
	return sha256.Sum256(text)
}

// Watch implements kubeconnect.v1.ResourceService.
func (w *Watches) Watch(ctx context.Context, request *kubeconnectv1.WatchRequest, stream *connect.ServerStream[kubeconnectv1.WatchResponse]) error {
	params, err := ParseWatch(request)
	if err != nil {
		return err
	}
	ctx, open, end := w.streams.Begin(ctx, 1)
	defer end()
	sender := w.newSender(ctx, params, &streamlife.StreamPart{Stream: open}, outletTo(stream))
	return w.run(ctx, &watchPart{watches: w, params: params, sender: sender})
}

// watchPart is a watch as a part of a stream.
type watchPart struct {
	watches *Watches // set once, like sender
	sender  watchSender

	params WatchParams
	watch  *watch // the watch that start has started
}

// watchSender sends what becomes of a watch: an eventSender or an eventReceiver.
type watchSender interface {
	// whileWaiting calls begin, and reports to the client that the watch waits until begin returns.
	whileWaiting(ctx context.Context, starting *startingWatch, begin func() (*watch, error)) (*watch, error)
	// follow sends events until the client disconnects or the watch ends, and closes the watch.
	follow(ctx context.Context, w *watch) error
}

// start implements part.
func (p *watchPart) start(ctx context.Context) (err error) {
	p.watch, err = p.watches.start(ctx, p.params, p.sender)
	return err
}

// follow implements part.
func (p *watchPart) follow(ctx context.Context) error {
	p.params.resumeToken = "" // newer events have been sent when the watch is started again
	return p.sender.follow(ctx, p.watch)
}

// resourceName implements part.
func (p *watchPart) resourceName() string { return p.params.Resource }

// newSender returns the sender of the events of a watch.
func (w *Watches) newSender(ctx context.Context, params WatchParams, of *streamlife.StreamPart, send outlet[*kubeconnectv1.WatchResponse]) *eventSender {
	return &eventSender{
		outlet: send, part: of, encoding: params.encoding, patches: params.patches, messages: call.WantsMessages(ctx),
		memory: budget.Messages{Queue: w.sending, Caller: call.CallerKey(call.IdentityFrom(ctx))}, metrics: w.metrics,
	}
}

// start starts a watch of the selected objects. While it waits for a snapshot, the sender sends
// messages that it waits.
func (w *Watches) start(ctx context.Context, params WatchParams, sender watchSender) (*watch, error) {
	return target.OnResource(ctx, w.targets, params.Resource, func(resource informerhub.Resource) (*watch, error) {
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
		starting := &startingWatch{starting: starting{lease: lease}, params: params}
		return sender.whileWaiting(ctx, starting, func() (*watch, error) { return w.follow(ctx, starting) })
	})
}

// follow starts a watch in the scope of its lease.
func (w *Watches) follow(ctx context.Context, starting *startingWatch) (*watch, error) {
	params, lease := starting.params, starting.lease
	resource := lease.Request.Resource
	related, err := w.reads.Relations.Resolve(ctx, params.Related, resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED)
	if err != nil {
		return nil, err
	}
	query, err := w.reads.Snapshots.Query(ctx, params.Selection, related, lease.Scope)
	if err != nil {
		return nil, err
	}
	started := &watch{
		lease: lease, scope: lease.Scope, metadataOnly: params.MetadataOnly, query: query,
		tokens: w.tokensFor(resource, params, related).WithScope(lease.Scope),
	}
	started.query.Name, started.query.Fields = params.Name, params.Fields
	if params.page != nil {
		return w.followPage(ctx, starting, started)
	}
	since, err := started.tokens.Read(params.resumeToken)
	if err != nil {
		return nil, err
	}
	if started.cache, started.endCache, err = w.cacheToWatch(ctx, lease, started.query, params.ReadsMetadata && params.FieldSelector == ""); err != nil {
		return nil, err
	}
	starting.cache.Store(started.cache)
	if err := started.join(ctx, since, params.MinVersion); err != nil {
		started.endCache()
		return nil, err
	}
	return started, nil
}

// tokensFor returns the tokens of a watch in no scope.
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
// that.
func (w *Watches) servesAgain(ctx context.Context, err error, name string) bool {
	var gone *discovery.ResourceGoneError
	if !errors.As(err, &gone) {
		return false
	}
	resource, err := w.targets.Resolve(ctx, name)
	return err == nil && resource.GroupResource() == gone.Resource.GroupResource()
}
