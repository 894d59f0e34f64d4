package streams

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// watch is the state of one watch. It ends when the cluster serves the resource in another version.
type watch struct {
	lease        *access.Lease
	cache        *informerhub.Cache
	endCache     func() // releases the cache if it belongs to this watch alone
	metadataOnly bool   // objects are reduced to their metadata
	query        informerhub.Query
	scope        auth.Namespaces // the scope in query
	watcher      watcher
	page         *livePage // watcher, if the watch has a page
	tokens       tokens.Watch
}

// watcher is the source of the events of a watch: an [informerhub.Watcher] or a livePage. Its methods
// are described there.
type watcher interface {
	NextUntil(ctx context.Context, interrupt <-chan struct{}) (informerhub.Batch, error)
	RequestBookmark()
	Rescope(next *informerhub.Selection)
	Restart(next *informerhub.Selection)
	Close()
}

// join attaches the watch to its cache.
func (w *watch) join(ctx context.Context, since *informerhub.Position, version string) error {
	if err := target.AwaitVersion(ctx, w.cache, version); err != nil {
		return err
	}
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	w.watcher = w.cache.Watch(selection, informerhub.WatchOptions{
		Bookmarks: BookmarkInterval,
		Since:     since,
		Patience:  target.VersionTimeout,
	})
	return nil
}

// close releases everything that belongs to this watch alone.
func (w *watch) close() {
	w.watcher.Close()
	w.endCache()
}

// rescope switches the watch to the current scope of its lease.
func (w *watch) rescope(ctx context.Context) error {
	return w.switchScope(ctx, watcher.Rescope)
}

// restart starts a snapshot of the current scope of the lease.
func (w *watch) restart(ctx context.Context) error {
	return w.switchScope(ctx, watcher.Restart)
}

func (w *watch) switchScope(ctx context.Context, switchTo func(watcher, *informerhub.Selection)) error {
	w.scope = w.lease.Scope
	w.query.Namespaces = access.Restriction(w.scope)
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	switchTo(w.watcher, selection)
	w.tokens = w.tokens.WithScope(w.scope)
	return nil
}

// outlet sends a response under an access lease; see Lease.send. It does not retain the
// response.
type outlet[R any] func(ctx context.Context, under *access.Lease, guarded streamlife.Guard, response R) error

// outletTo returns the outlet of a stream that has one part.
func outletTo[R any](stream *connect.ServerStream[R]) outlet[*R] {
	return func(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, response *R) error {
		return lease.Send(ctx, guarded, func() error { return stream.Send(response) })
	}
}

// eventSender sends the events of one watch. It is owned by the goroutine that follows the watch.
type eventSender struct {
	outlet   outlet[*kubeconnectv1.WatchResponse]
	part     *streamlife.StreamPart
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchFormat
	Messages bool // the caller's codec needs decoded messages
	Memory   budget.Messages
	Metrics  *observe.Metrics     // nil: nothing is counted
	sent     observe.SentMessages // of the resource

	response    kubeconnectv1.WatchResponse // the next message
	delivered   *delivery                   // after everything that has been sent; nil if the client cannot resume there
	markedAt    time.Time                   // when the last message with a freshness began to be sent
	lastContact time.Time                   // time as of which what has been sent is complete
}

// delivery is the progress of a client.
type delivery struct {
	version string
	token   string // to resume with
}

// follow sends the watcher's batches until the client disconnects or the watch ends.
func (s *eventSender) follow(ctx context.Context, w *watch) error {
	defer w.close()
	s.part.SetResource(w.cache.Resource())
	s.sent = s.Metrics.SentMessages(w.cache.Resource().String())
	for {
		if err := s.followScope(ctx, w); err != nil {
			return err
		}
		if err := s.followPeriod(ctx, w); err != nil {
			return err
		}
	}
}

// followPeriod sends batches until the lease must be renewed, or has been renewed by a send.
func (s *eventSender) followPeriod(ctx context.Context, w *watch) error {
	period, cancel := w.lease.Period(ctx)
	defer cancel()
	for due := w.lease.Due; w.lease.Due.Equal(due) && w.lease.Scope.Equal(w.scope); {
		batch, err := s.next(ctx, period, w)
		if err != nil {
			return w.lease.EndOfPeriod(ctx, err)
		}
		if err := s.send(ctx, w, batch); err != nil {
			return err
		}
	}
	return nil
}

// errWaiting reports that a stream has waited for its turn for waitingInterval. It is never returned to
// callers.
var errWaiting = errors.New("the stream still waits for its turn")

// next returns the watcher's next batch in a period. While that takes long, it sends bookmarks.
func (s *eventSender) next(ctx, period context.Context, w *watch) (informerhub.Batch, error) {
	for {
		waiting, cancel := period, context.CancelFunc(func() {})
		if s.delivered != nil {
			waiting, cancel = context.WithDeadlineCause(period, s.markedAt.Add(waitingInterval), errWaiting)
		}
		batch, err := w.watcher.NextUntil(waiting, w.lease.Changed)
		cancel()
		if !errors.Is(err, errWaiting) {
			return batch, err
		}
		if err := s.repeat(ctx, informerhub.Freshness{Stale: w.cache.Freshness().Stale, LastContact: s.lastContact}); err != nil {
			return informerhub.Batch{}, err
		}
	}
}

// repeat sends a bookmark of what the client has, if it can be resumed there.
func (s *eventSender) repeat(ctx context.Context, freshness informerhub.Freshness) error {
	if s.delivered == nil {
		return nil
	}
	s.response.Freshness = encode.Freshness(freshness)
	return s.sendEncoded(ctx, nil, streamlife.Guard{}, encode.Bookmark(s.delivered.version, s.delivered.token))
}

// followScope renews the lease if that is due, and switches to the scope that the lease now has.
func (s *eventSender) followScope(ctx context.Context, w *watch) error {
	if err := s.renew(ctx, w); err != nil || w.lease.Scope.Equal(w.scope) {
		return err
	}
	if err := s.part.Settle(false); err != nil {
		return err
	}
	s.delivered = nil // no position in the new scope corresponds to what was sent
	s.setKind(w.metadataOnly, w.lease)
	return w.rescope(ctx)
}

// setKind sets the kind, the source and the namespaces of the stream in the next response.
func (s *eventSender) setKind(metadataOnly bool, lease *access.Lease) {
	resource := lease.Request.Resource
	s.response.Resource = encode.ShownKind(encode.Kind(resource), metadataOnly)
	s.response.Source = sourceOf(resource)
	s.response.Namespaces, s.response.Warnings = access.Coverage(lease.Request, lease.Scope)
}

// renew renews the stream's lease if that is due. While the cluster cannot be asked, only stale
// bookmarks are sent. After that a bookmark reports that the stream is current again.
func (s *eventSender) renew(ctx context.Context, w *watch) error {
	withheld, err := w.lease.RenewUntilValid(ctx, func() error { return s.withhold(ctx, w) })
	if withheld && err == nil {
		w.watcher.RequestBookmark()
	}
	return err
}

// withhold sends a stale bookmark: the stream has not advanced since its last batch.
func (s *eventSender) withhold(ctx context.Context, w *watch) error {
	if err := s.repeat(ctx, informerhub.Freshness{Stale: true, LastContact: s.lastContact}); err != nil {
		return err
	}
	return w.lease.AwaitRetry(ctx)
}

// send sends a batch as one or more messages. Messages that several streams send are encoded once.
func (s *eventSender) send(ctx context.Context, w *watch, batch informerhub.Batch) error {
	if batch.Events[0].Type == informerhub.Reset {
		s.setKind(w.metadataOnly, w.lease)
		s.part.NoteReset(ctx)
	}
	var freshness *kubeconnectv1.Freshness
	switch batch.Events[len(batch.Events)-1].Type {
	case informerhub.Synced, informerhub.Bookmark:
		freshness = encode.Freshness(batch.Freshness)
	}
	s.response.Warnings = append(s.response.Warnings, batch.Warnings...)
	err := s.sendBatch(ctx, w, batch, freshness)
	if err == nil && freshness != nil {
		s.part.NoteBegun(ctx)
	}
	if contact := batch.Freshness.LastContact; err == nil && contact.After(s.lastContact) {
		s.lastContact = contact
	}
	if errors.Is(err, errNarrowed) {
		s.response.Reset()
		s.delivered = nil
		return w.restart(ctx)
	}
	return err
}

// errNarrowed reports that the rest of a batch was not sent, because the caller can no longer read
// all of it. It is never returned to callers.
var errNarrowed = errors.New("the caller can read less")

func (s *eventSender) sendBatch(ctx context.Context, w *watch, batch informerhub.Batch, freshness *kubeconnectv1.Freshness) error {
	if err := s.part.Settle(false); err != nil {
		return err
	}
	held, err := s.Memory.Reserve(ctx, batch, w.page.joinedBytes(), s.Messages)
	if err != nil {
		return err
	}
	defer held.Release()
	defer w.page.release()
	for encoded, err := range s.encoderOf(w, batch).Responses(ctx) {
		if err != nil {
			return err
		}
		if err := s.sendPermitted(ctx, w, held, encoded, freshness); err != nil {
			return err
		}
		s.sent.Add(encoded.Count, batch.Since)
		call.NoteObjects(ctx, encoded.Count)
		s.delivered = nil
		if position, ok := batch.PositionAfter(encoded.Last); ok {
			s.delivered = &delivery{position.Version, encoded.Token}
		}
	}
	return s.part.Settle(s.delivered != nil)
}

func (s *eventSender) encoderOf(w *watch, batch informerhub.Batch) encode.Events {
	size, _ := batch.Sizes()
	events := encode.Events{Batch: batch, Encoding: s.encoding, Patches: s.patches, Tokens: &w.tokens, Heavy: size >= encode.HeavyBatch}
	if w.page != nil {
		events.Places = w.page.places
		w.tokens = w.tokens.WithHeld(w.page.token())
	}
	return events
}

// sendPermitted sends a message under a valid lease. It renews the lease first if that is due.
func (s *eventSender) sendPermitted(ctx context.Context, w *watch, held budget.Held, encoded encode.Response, freshness *kubeconnectv1.Freshness) error {
	for {
		if err := s.renew(ctx, w); err != nil {
			return err
		}
		if !access.Covers(w.lease.Scope, w.scope) || !w.page.isPermitted() {
			return errNarrowed
		}
		s.response.Freshness = freshness
		if w.page != nil && encoded.Token != "" {
			s.response.Page = w.page.changedState
		}
		if err := s.sendEncoded(ctx, w.lease, streamlife.Guard{Contended: held.Awaited}, encoded); !errors.Is(err, access.ErrDue) {
			return err
		}
	}
}

func (s *eventSender) sendEncoded(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, encoded encode.Response) error {
	if s.response.Freshness != nil {
		s.markedAt = time.Now()
	}
	s.response.ResumeToken = encoded.Token
	encode.Set(&s.response, encoded.Events, s.Messages)
	err := s.outlet(ctx, lease, guarded, &s.response)
	if errors.Is(err, access.ErrDue) {
		s.response.ResumeToken, s.response.Events = "", nil
		s.response.ProtoReflect().SetUnknown(nil)
		return err
	}
	s.response.Reset()
	return err
}

// cacheToWatch returns the cache that a stream follows, and a function that releases it with the
// stream. A resource that must not be cached has a private cache for the stream.
func (w *Watches) cacheToWatch(ctx context.Context, lease *access.Lease, query informerhub.Query, metadataOnly bool) (*informerhub.Cache, func(), error) {
	resource := lease.Request.Resource
	if !resource.Watchable {
		return nil, nil, unwatchable(resource)
	}
	if resource.Cacheable() {
		cache, err := w.hub.Cache(ctx, resource)
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

const (
	// BookmarkInterval is the longest time that a watch is silent. It is shorter than the time
	// after which proxies close a silent stream.
	BookmarkInterval = 5 * time.Second
	// waitingInterval is the time since the last bookmark, or counts, after which a stream that waits for its
	// turn, or for a processor, repeats what its client has: that is promised at least every ten seconds.
	waitingInterval = 8 * time.Second
)
