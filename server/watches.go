package server

import (
	"context"
	"crypto/sha256"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// watchParams are the parsed fields of a request for a watch.
type watchParams struct {
	selectionParams
	name        string // empty for all objects that match
	fields      *mask.Mask
	encoding    kubeconnectv1.Encoding
	patches     kubeconnectv1.PatchFormat
	page        *pageParams       // nil for all objects
	joins       []joinParams      // of the objects of the page
	resumeToken string            // validated when the watch has its resource; see tokens.read
	hash        [sha256.Size]byte // of what the watch selects, without the resource
}

func parseWatch(request *kubeconnectv1.WatchRequest) (p watchParams, err error) {
	if err := errors.Join(encode.Check(request.GetEncoding()), encode.CheckPatches(request.GetPatchFormat(), request.GetEncoding())); err != nil {
		return watchParams{}, err
	}
	if err := checkWatchedRelation(request.GetRelated()); err != nil {
		return watchParams{}, err
	}
	p = watchParams{name: request.GetName(), encoding: request.GetEncoding(), patches: request.GetPatchFormat(), resumeToken: request.GetResumeToken()}
	if p.fields, err = encode.Fields(request.GetFields(), request.GetMetadataOnly()); err != nil {
		return watchParams{}, err
	}
	if p.page, err = parsePage(request); err != nil {
		return watchParams{}, err
	}
	if p.joins, err = parseWatchJoins(request); err != nil {
		return watchParams{}, err
	}
	p.selectionParams, err = parseSelection(request)
	if request.GetMetadataOnly() {
		p.selectionParams = p.ofMetadata()
	}
	p.hash = hashSelection(request, p.fields, p.page)
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
// a change of it for a request that exists is a new format, see newestFormat.
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
func (w *watches) Watch(ctx context.Context, request *kubeconnectv1.WatchRequest, stream *connect.ServerStream[kubeconnectv1.WatchResponse]) error {
	params, err := parseWatch(request)
	if err != nil {
		return err
	}
	ctx, open, end := w.streams.Begin(ctx, 1)
	defer end()
	sender := w.newSender(ctx, params, &edge.StreamPart{Stream: open}, outletTo(stream))
	return w.run(ctx, &watchPart{watches: w, params: params, sender: sender})
}

// watchPart is a watch as a part of a stream.
type watchPart struct {
	watches *watches // set once, like sender
	sender  *eventSender

	params watchParams
	watch  *watch // the watch that start has started
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
func (p *watchPart) resourceName() string { return p.params.resource }

// newSender returns the sender of the events of a watch.
func (w *watches) newSender(ctx context.Context, params watchParams, of *edge.StreamPart, send outlet[*kubeconnectv1.WatchResponse]) *eventSender {
	return &eventSender{
		outlet: send, part: of, encoding: params.encoding, patches: params.patches, messages: edge.WantsMessages(ctx),
		memory: sendMemory{w.sending, edge.CallerKey(edge.IdentityFrom(ctx))}, metrics: w.metrics,
	}
}

// start starts a watch of the selected objects. While it waits for a snapshot, the sender sends
// messages that it waits.
func (w *watches) start(ctx context.Context, params watchParams, sender *eventSender) (*watch, error) {
	return onResource(ctx, w.cluster, params.resource, func(resource informerhub.Resource) (*watch, error) {
		if params.name != "" {
			if err := checkName(resource, params.namespace, params.name); err != nil {
				return nil, err
			}
		}
		access := params.accessOf(toWatch(resource, params.namespace, params.name, params.fieldSelector))
		lease, err := w.leases.grant(ctx, access)
		if err != nil {
			return nil, err
		}
		starting := &startingWatch{starting: starting{lease: lease}, params: params}
		return sender.whileWaiting(ctx, starting, func() (*watch, error) { return w.follow(ctx, starting) })
	})
}

// follow starts a watch in the scope of its lease.
func (w *watches) follow(ctx context.Context, starting *startingWatch) (*watch, error) {
	params, lease := starting.params, starting.lease
	resource := lease.request.resource
	related, err := w.relate(ctx, params.related, resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED)
	if err != nil {
		return nil, err
	}
	query, err := w.query(ctx, params.selectionParams, related, lease.scope)
	if err != nil {
		return nil, err
	}
	started := &watch{
		lease: lease, scope: lease.scope, metadataOnly: params.metadataOnly, query: query,
		tokens: tokensFor(resource, params).inGeneration(w.generation).relatedBy(related).withScope(lease.scope),
	}
	started.query.Name, started.query.Fields = params.name, params.fields
	if params.page != nil {
		return w.followPage(ctx, starting, started)
	}
	since, err := started.tokens.read(params.resumeToken)
	if err != nil {
		return nil, err
	}
	if started.cache, started.endCache, err = w.cacheToWatch(ctx, lease, started.query, params.readsMetadata && params.fieldSelector == ""); err != nil {
		return nil, err
	}
	starting.cache.Store(started.cache)
	if err := started.join(ctx, since, params.minVersion); err != nil {
		started.endCache()
		return nil, err
	}
	return started, nil
}

// servesAgain reports whether a watch has ended only because the cluster now serves the named
// resource in another version, or because the CRD was recreated. The stream then continues with
// that.
func (w *watches) servesAgain(ctx context.Context, err error, name string) bool {
	var gone *discovery.ResourceGoneError
	if !errors.As(err, &gone) {
		return false
	}
	resource, err := w.resolve(ctx, name)
	return err == nil && resource.GroupResource() == gone.Resource.GroupResource()
}
