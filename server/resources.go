package server

import (
	"cmp"
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// resources implements kubeconnect.v1.ResourceService.
type resources struct {
	hub        *informerhub.Hub
	clients    *auth.ClientFactory
	lists      *listCache
	filters    filter.Compiler
	rights     rights
	recheck    time.Duration
	generation string // of resume tokens and page tokens
	callers    *edge.Callers
	metrics    *edge.Metrics
	streams    *edge.Streams

	responses *responseMemory
	liveLists *fairqueue.Queue // slots to list at the API server
	sending   *fairqueue.Queue // memory for the messages that streams send, by caller
	// unreadLogs counts the logs whose clients do not read, by caller.
	unreadLogs *fairqueue.Queue
}

func newResources(config Config, callers *edge.Callers) *resources {
	return &resources{
		hub:        config.Hub,
		clients:    config.Clients,
		lists:      newListCache(),
		rights:     rights{config.Authorizer},
		recheck:    cmp.Or(config.Recheck, defaultRecheck),
		callers:    callers,
		generation: config.TokenGeneration,
		metrics:    config.Metrics,
		streams:    cmp.Or(config.Streams, edge.NewStreams(0)),

		responses: newResponseMemory(config.Limits),
		liveLists: newLiveLists(config.Limits),
		sending:   newSendMemory(),

		unreadLogs: newUnreadLogs(),
	}
}

// Watch implements kubeconnect.v1.ResourceService.
func (s *resources) Watch(ctx context.Context, request *kubeconnectv1.WatchRequest, stream *connect.ServerStream[kubeconnectv1.WatchResponse]) error {
	ctx, open, end := s.streams.Begin(ctx, 1)
	defer end()
	sender := s.newSender(ctx, request, open, func(ctx context.Context, under *accessLease, guarded edge.Guard, response *kubeconnectv1.WatchResponse) error {
		return under.send(ctx, guarded, func() error { return stream.Send(response) })
	})
	watch, err := s.watch(ctx, request, sender)
	if err != nil {
		return err
	}
	return s.serve(ctx, request, watch, sender)
}

// newSender returns the sender of the events of a watch of a stream.
func (s *resources) newSender(ctx context.Context, request *kubeconnectv1.WatchRequest, stream *edge.OpenStream, send outlet) *eventSender {
	return &eventSender{
		outlet: send, part: edge.StreamPart{Stream: stream}, encoding: request.GetEncoding(), patches: request.GetPatchFormat(), messages: edge.WantsMessages(ctx),
		memory: sendMemory{s.sending, edge.CallerKey(edge.IdentityFrom(ctx))}, sent: s.metrics.SentEvents(),
	}
}

// serve follows a watch until the client disconnects or the watch ends.
func (s *resources) serve(ctx context.Context, request *kubeconnectv1.WatchRequest, watch *watch, sender *eventSender) error {
	for {
		err := sender.follow(ctx, watch)
		if !s.servesAgain(ctx, err, request.GetResource()) {
			return err
		}
		request = proto.CloneOf(request)
		request.ResumeToken = "" // newer events have been sent since
		if watch, err = s.watch(ctx, request, sender); err != nil {
			return err
		}
	}
}

// checkWatch rejects a request with invalid options for a watch.
func checkWatch(request *kubeconnectv1.WatchRequest) error {
	if err := encode.Check(request.GetEncoding()); err != nil {
		return err
	}
	return errors.Join(encode.CheckPatches(request.GetPatchFormat(), request.GetEncoding()), checkVersion(request.GetMinResourceVersion()))
}

// watch starts a watch of the objects that a request selects. While it waits for a snapshot, the
// sender sends messages that it waits.
func (s *resources) watch(ctx context.Context, request *kubeconnectv1.WatchRequest, sender *eventSender) (*watch, error) {
	if err := checkWatch(request); err != nil {
		return nil, err
	}
	fields, err := encode.Fields(request.GetFields(), request.GetMetadataOnly())
	if err != nil {
		return nil, err
	}
	return onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (*watch, error) {
		return s.watchOf(ctx, resource, request, fields, sender)
	})
}

func (s *resources) watchOf(ctx context.Context, resource informerhub.Resource, request *kubeconnectv1.WatchRequest, fields *mask.Mask, sender *eventSender) (*watch, error) {
	if err := checkSegment("namespace", request.GetNamespace()); err != nil {
		return nil, err
	}
	if request.GetName() != "" {
		if err := checkName(resource, request.GetNamespace(), request.GetName()); err != nil {
			return nil, err
		}
	}
	if request.GetRelated().GetTransitive() {
		return nil, apierror.BadRequest("related.transitive is not supported by a watch, which cannot follow owners that are created and deleted: use SELECTED_BY to select the pods of a deployment")
	}
	access := toWatch(resource, request.GetNamespace(), request.GetName(), request.GetFieldSelector()).requiring(request)
	permit, err := s.grantLease(ctx, access)
	if err != nil {
		return nil, err
	}
	starting := &startingWatch{request: request, fields: fields, lease: permit}
	watch, err := sender.whileWaiting(ctx, starting, func() (*watch, error) { return s.follow(ctx, starting) })
	if err != nil {
		permit.release()
	}
	return watch, err
}

// follow starts a watch in the scope of its lease.
func (s *resources) follow(ctx context.Context, starting *startingWatch) (*watch, error) {
	request, permit := starting.request, starting.lease
	related, err := s.relate(ctx, request.GetRelated(), permit.request.resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED)
	if err != nil {
		return nil, err
	}
	w := &watch{lease: permit, scope: permit.scope, metadataOnly: request.GetMetadataOnly(), tokens: tokensFor(permit.request.resource, request).inGeneration(s.generation).relatedBy(related).withScope(permit.scope)}
	since, err := w.tokens.read(request.GetResumeToken())
	if err != nil {
		return nil, err
	}
	if w.query, err = s.queryFor(request, related, permit.scope); err != nil {
		return nil, err
	}
	w.query.Name, w.query.Fields = request.GetName(), starting.fields
	if w.cache, w.endCache, err = s.cacheToWatch(ctx, permit, w.query, readsMetadata(request) && request.GetFieldSelector() == ""); err != nil {
		return nil, err
	}
	starting.cache.Store(w.cache)
	if err := s.join(ctx, w, since, request.GetMinResourceVersion()); err != nil {
		w.endCache()
		return nil, err
	}
	return w, nil
}

// join attaches a watch to its cache.
func (s *resources) join(ctx context.Context, w *watch, since *informerhub.Position, version string) error {
	if err := awaitVersion(ctx, w.cache, version); err != nil {
		return err
	}
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	w.watcher = w.cache.Watch(selection, informerhub.WatchOptions{
		Bookmarks: bookmarkInterval,
		Since:     since,
		Patience:  patience,
	})
	return nil
}

// servesAgain reports whether a watch has ended only because the cluster now serves the named
// resource in another version, or because the CRD was recreated. The stream then continues with
// that.
func (s *resources) servesAgain(ctx context.Context, err error, name string) bool {
	var gone *discovery.ResourceGoneError
	if !errors.As(err, &gone) {
		return false
	}
	resource, err := s.resolve(ctx, name)
	return err == nil && resource.GroupResource() == gone.Resource.GroupResource()
}
