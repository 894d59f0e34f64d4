package streams

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// outlet sends a response under an access lease; see [access.Lease.Send]. It does not retain the
// response. It returns [access.ErrDue], and has sent nothing, if the lease must be renewed first.
type outlet[R any] func(ctx context.Context, under *access.Lease, guarded streamlife.Guard, response R) error

// outletTo returns the outlet of a stream that has one part.
func outletTo[R any](stream interface{ Send(*R) error }) outlet[*R] {
	return func(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, response *R) error {
		return lease.Send(ctx, guarded, func() error { return stream.Send(response) })
	}
}

// eventSender sends the events of one watch. It is owned by the goroutine that follows the watch.
//
// A batch is sent as messages, and each message under a lease that is valid when it begins to be sent. When permissions change
// within a batch:
//
//   - if the caller can read more, the rest of the batch is sent, and the watch switches to the new scope after it;
//   - if the caller can read less, the rest of the batch is dropped, and the watch begins again with a snapshot;
//   - if the caller can read nothing, the stream ends.
type eventSender struct {
	// Set once.
	outlet   outlet[*kubeconnectv1.WatchResponse]
	part     *streamlife.StreamPart
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchFormat
	messages bool // the caller's codec needs decoded messages
	memory   budget.Messages
	metrics  *observe.Metrics
	sent     observe.SentMessages // of the resource; set by attach

	watch  *followedWatch // that is followed; set by attach, like leased
	leased leasedStream
	batch  watchBatch // that next has found; empty while the stream waits

	// response is the next message. What describes the stream, such as its kind and its namespaces, is set before there is
	// something to send, and stays until a message was sent. Events and token are set for one attempt to send.
	response kubeconnectv1.WatchResponse

	// What the client has.
	delivered   *delivery // after everything that has been sent; nil if the client cannot resume there
	caughtUp    bool      // the last SYNCED or BOOKMARK of this watch was not stale; false before the first one
	markAt      time.Time // when the last message began to be sent that had a freshness; any message until caughtUp
	lastContact time.Time // time as of which what has been sent is complete
}

// delivery is the progress of a client.
type delivery struct {
	version string // up to which the client has everything; a page can have some deletions of a newer version too
	token   string // to resume with
}

// attach implements watchSender.
func (s *eventSender) attach(w *followedWatch) leasedStream {
	s.part.SetResource(w.cache.Resource())
	s.sent = s.metrics.SentMessages(w.cache.Resource().String())
	s.watch, s.leased = w, leasedStream{w.lease, s}
	s.delivered, s.caughtUp = nil, false // of a watch before, whose resource was recreated
	return s.leased
}

// next implements source.
func (s *eventSender) next(ctx context.Context, changed <-chan struct{}) error {
	return s.watch.source.NextUntil(ctx, changed, &s.batch)
}

// markedAt implements source. Nothing is repeated at a position where the client cannot resume: a bookmark says that the
// client has everything up to its version, and within a snapshot that is false.
func (s *eventSender) markedAt() (time.Time, bool) { return s.markAt, s.delivered != nil }

// scope implements source.
func (s *eventSender) scope() auth.Namespaces { return s.watch.scope }

// rescope implements source. The part is unsettled from here until the next batch was sent: if the stream ended between,
// its client would resume with a token of the scope before, which can lead to a snapshot.
func (s *eventSender) rescope(ctx context.Context) error {
	if err := s.part.Settle(false); err != nil {
		return err
	}
	s.delivered = nil // no position in the new scope corresponds to what was sent
	s.setKind(s.watch.metadataOnly, s.watch.lease)
	return s.watch.rescope(ctx)
}

// repeat implements source. It sends a bookmark of what the client has, if it can be resumed there: the stream has not advanced
// since its last batch. Before the changes since a resume token have all been sent, the bookmark is stale: after a bookmark that is
// not stale, the client counts as current.
func (s *eventSender) repeat(ctx context.Context, stale bool) error {
	// The lease can be renewed later without any change in the cache, so the bookmark that reports it must be requested.
	if stale {
		s.watch.source.RequestBookmark()
	}
	if s.delivered == nil {
		return nil
	}
	freshness := informerhub.Freshness{Stale: stale || !s.caughtUp || s.watch.cache.Freshness().Stale, LastContact: s.lastContact}
	s.response.Freshness = encode.Freshness(freshness)
	return s.sendEncoded(ctx, nil, streamlife.Guard{}, encode.Bookmark(s.delivered.version, s.delivered.token), nil)
}

// setKind sets the kind, the source and the namespaces of the stream in the next response. The client receives them with the
// first message, with each RESET, and after a change of the scope.
func (s *eventSender) setKind(metadataOnly bool, lease *access.Lease) {
	resource := lease.Request.Resource
	s.response.Resource = encode.ShownKind(encode.Kind(resource), metadataOnly)
	s.response.Source = sourceOf(resource)
	s.response.Namespaces, s.response.Warnings = access.Coverage(lease.Request, lease.Scope)
}

// send implements source. It sends a batch as one or more messages. Messages that several streams send are encoded once.
func (s *eventSender) send(ctx context.Context) error {
	batch := &s.batch
	defer batch.done()

	// What the first message of the batch has in addition.
	if batch.Events[0].Type == informerhub.Reset {
		s.setKind(s.watch.metadataOnly, s.watch.lease)
		s.part.NoteReset(ctx)
	}
	// Only Synced and Bookmark say that the client has everything. They are the last event of their batch.
	var freshness *kubeconnectv1.Freshness
	switch batch.Events[len(batch.Events)-1].Type {
	case informerhub.Synced, informerhub.Bookmark:
		freshness = encode.Freshness(batch.Freshness)
	}

	err := s.sendBatch(ctx, batch, freshness)
	if err == nil && freshness != nil {
		s.caughtUp = !freshness.GetStale()
		s.part.NoteBegun(ctx)
	}
	if contact := batch.Freshness.LastContact; err == nil && contact.After(s.lastContact) {
		s.lastContact = contact
	}
	// The response may have been filled for the message that was not sent, and no position describes a part of a batch.
	if errors.Is(err, errNarrowed) {
		s.response.Reset()
		s.delivered = nil
		return s.watch.restart(ctx)
	}
	return err
}

// errNarrowed reports that the rest of a batch was not sent, because the caller can no longer read
// all of it. It is never returned to callers.
var errNarrowed = errors.New("the caller can read less")

// sendBatch sends the messages of a batch. Between both calls of Settle the stream is not ended in favor of another replica,
// because the client could not resume there.
//
// The memory is reserved before the first message is encoded, and released after the last one was sent. It covers the objects
// of the batch, which stay in memory until then, and one message.
func (s *eventSender) sendBatch(ctx context.Context, batch *watchBatch, freshness *kubeconnectv1.Freshness) error {
	if err := s.part.Settle(false); err != nil {
		return err
	}
	held, err := s.memory.Reserve(ctx, batch.Batch, batch.joinedBytes(), s.messages)
	if err != nil {
		return err
	}
	defer held.Release()
	warnings := batch.Warnings // are sent with the first message
	for encoded, err := range s.encoderOf(batch).Responses(ctx) {
		if err != nil {
			return err
		}
		if err := s.leased.send(ctx, s.check, func() error {
			s.response.Freshness = freshness
			if encoded.Token != "" { // the message ends the page, and its state is true after it
				s.response.Page = batch.page
			}
			return s.sendEncoded(ctx, s.watch.lease, streamlife.Guard{Contended: held.Awaited}, encoded, warnings)
		}); err != nil {
			return err
		}
		warnings = nil
		s.sent.Add(encoded.Count, batch.Since)
		call.NoteObjects(ctx, encoded.Count)
		// Not before: repeat names this position while the next message waits for a lease.
		s.delivered = nil
		if position, ok := batch.PositionAfter(encoded.Last); ok {
			s.delivered = &delivery{cmp.Or(batch.complete, position.Version), encoded.Token}
		}
	}
	return s.part.Settle(s.delivered != nil)
}

// encoderOf returns the encoder of a batch. The tokens get the objects of the page before any of them is encoded. A batch of a
// page is not shared, so its tokens, which list the objects of one client, never reach another stream.
func (s *eventSender) encoderOf(batch *watchBatch) encode.Events {
	size, _ := batch.Sizes()
	s.watch.tokens = s.watch.tokens.WithHeld(batch.held)
	return encode.Events{
		Batch: batch.Batch, Places: batch.places, Encoding: s.encoding, Patches: s.patches, Tokens: &s.watch.tokens,
		Heavy: size >= encode.HeavyBatch,
	}
}

// check returns errNarrowed if the caller can no longer read the whole batch. It does not look whether the next message itself
// names an object that is no longer permitted: the batch was read in one scope.
func (s *eventSender) check() error {
	if !access.Covers(s.watch.lease.Scope, s.watch.scope) || s.batch.permitted != nil && !s.batch.permitted() {
		return errNarrowed
	}
	return nil
}

// sendEncoded sends the encoded events of one message, and its warnings, with what the response has already. After ErrDue
// everything that depends on objects is removed from the response, because a repeated bookmark may be sent, without a lease,
// before the next attempt. What describes the stream remains, and is sent with the next message, whichever that is.
func (s *eventSender) sendEncoded(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, encoded encode.Response, warnings []string) error {
	describing := s.response.Warnings
	s.response.Warnings = append(slices.Clip(describing), warnings...)
	// The time before sending: while a client reads slowly, the message becomes old.
	if s.response.Freshness != nil || !s.caughtUp {
		s.markAt = time.Now()
	}
	s.response.ResumeToken = encoded.Token
	encode.Set(&s.response, encoded.Events, s.messages)
	err := s.outlet(ctx, lease, guarded, &s.response)
	if errors.Is(err, access.ErrDue) {
		s.response.ResumeToken, s.response.Events, s.response.Page, s.response.Freshness = "", nil, nil, nil
		s.response.Warnings = describing
		s.response.ProtoReflect().SetUnknown(nil)
		return err
	}
	s.response.Reset()
	return err
}

// whileWaiting calls begin, and sends messages at an interval until begin returns. The first message,
// or the first one of the watch, has the kind.
func (s *eventSender) whileWaiting(ctx context.Context, waiting *waitingWatch, begin func() (*followedWatch, error)) (*followedWatch, error) {
	s.setKind(waiting.params.MetadataOnly, waiting.lease)
	return whileWaiting(ctx, func(ctx context.Context) error { return s.sendWaiting(ctx, waiting) }, begin)
}

// sendWaiting sends a BOOKMARK without a version, with the resume token that the client has sent. The
// token remains valid: a client that keeps only the last token must not lose its position. It is sent
// without a lease, because it says nothing about objects.
func (s *eventSender) sendWaiting(ctx context.Context, waiting *waitingWatch) error {
	s.response.Events = []*kubeconnectv1.Event{{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK}}
	s.response.ResumeToken, s.response.Freshness = waiting.params.resumeToken, waiting.freshness()
	defer s.response.Reset()
	return s.outlet(ctx, nil, streamlife.Guard{}, &s.response)
}
