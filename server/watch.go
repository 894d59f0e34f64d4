package server

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// maxResponseBytes is the size at which a message is sent rather than filled
// further. gRPC clients refuse messages over 4 MiB.
const maxResponseBytes = 1 << 20

// watch is what one stream follows, until the cluster serves it in another version.
type watch struct {
	permit   *permit
	cache    *informerhub.Cache
	endCache func() // of what is for this watch alone
	shows    shown
	query    informerhub.Query
	watcher  *informerhub.Watcher
	tokens   tokens
}

// end ends all that there is for the watch alone.
func (w *watch) end() {
	w.watcher.Close()
	w.endCache()
	w.permit.endPeriod()
}

// next answers what waits, unless the permit must be confirmed first: then it answers
// nothing.
func (w *watch) next(ctx context.Context) (informerhub.Batch, error) {
	w.watcher.InterruptBy(w.permit.changed)
	batch, err := w.watcher.Next(w.permit.period)
	if err != nil && ctx.Err() == nil && w.permit.isDue() {
		return informerhub.Batch{}, nil
	}
	return batch, err
}

// rescope goes over to what the caller may see now.
func (w *watch) rescope(ctx context.Context) error {
	w.query.Namespaces = restriction(w.permit.scope)
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	w.watcher.Rescope(selection)
	w.tokens = w.tokens.under(w.permit.scope)
	return nil
}

// eventSender sends the events of one watch. It is owned by who follows that.
type eventSender struct {
	// to sends a response, which must not be kept.
	to       func(*kubeconnectv1.WatchResponse) error
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchType
	messages bool // the caller's codec needs messages
	sent     prometheus.Counter

	response kubeconnectv1.WatchResponse // what is sent next
	told     *informerhub.Position       // up to where all has been sent; nil where that is nowhere
	contact  time.Time                   // the last one that was told
}

// follow sends what the watcher answers, until the caller goes or the watch ends.
func (s *eventSender) follow(ctx context.Context, w *watch) error {
	defer w.end()
	s.tellKind(w)
	for {
		for w.permit.isDue() {
			if err := s.confirm(ctx, w); err != nil {
				return err
			}
		}
		batch, err := w.next(ctx)
		if err != nil {
			return err
		}
		if len(batch.Events) == 0 {
			continue
		}
		if err := s.send(w, batch); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx) // the caller has gone while something was being sent
			}
			return err
		}
	}
}

// tellKind says in the next response what the objects are, where they come from, and which
// namespaces the stream covers.
func (s *eventSender) tellKind(w *watch) {
	s.response.Kind = shownKind(w.shows, encodeKind(w.cache.Resource()))
	s.response.Source = sourceOf(w.cache.Resource())
	s.response.Namespaces, s.response.Warnings = coverageOf(w.permit.wanted, w.permit.scope)
}

// confirm has a stream's permit confirmed, and goes over to what that is for now. While
// the cluster cannot be asked, nothing is told but that.
func (s *eventSender) confirm(ctx context.Context, w *watch) error {
	before := w.permit.scope
	err := w.permit.confirm(ctx)
	switch {
	case errors.Is(err, errUnconfirmed):
		return s.withhold(ctx, w)
	case err != nil:
		return err
	case !w.permit.scope.Equal(before):
		s.told = nil // what has been told leads to no place in the new scope
		s.tellKind(w)
		return w.rescope(ctx)
	}
	return nil
}

// withhold says that the stream has stood still since its permit was confirmed last.
func (s *eventSender) withhold(ctx context.Context, w *watch) error {
	if s.told != nil {
		s.response.Freshness = encodeFreshness(s.standing(w.permit.confirmed, w.cache.Freshness().LastContact))
		batch := informerhub.Batch{
			Events:   []informerhub.Event{{Type: informerhub.Bookmark, ResourceVersion: s.told.Version}},
			Position: *s.told,
		}
		if err := s.sendBatch(w, batch); err != nil {
			return err
		}
	}
	return w.permit.pause(ctx)
}

// standing returns how current a stream is that stands still since its permit was confirmed:
// as of then, or as of when the cache is complete if that is earlier, and never less than the
// stream has said before.
func (s *eventSender) standing(confirmed, complete time.Time) informerhub.Freshness {
	contact := confirmed
	if complete.Before(contact) {
		contact = complete
	}
	if s.contact.After(contact) {
		contact = s.contact
	}
	return informerhub.Freshness{Stale: true, LastContact: contact}
}

// send sends a batch in as few messages as their size allows. What several streams
// are to send is encoded once for them all.
func (s *eventSender) send(w *watch, batch informerhub.Batch) error {
	if batch.Events[0].Type == informerhub.Reset {
		s.tellKind(w)
	}
	switch batch.Events[len(batch.Events)-1].Type {
	case informerhub.Synced, informerhub.Bookmark:
		s.contact = batch.Freshness.LastContact
		s.response.Freshness = encodeFreshness(batch.Freshness)
	}
	return s.sendBatch(w, batch)
}

func (s *eventSender) sendBatch(w *watch, batch informerhub.Batch) error {
	s.response.Warnings = append(s.response.Warnings, batch.Warnings...)
	encoder := batchEncoder{batch: batch, encoding: s.encoding, patches: s.patches, tokens: w.tokens}
	freshness := s.response.Freshness
	for encoded := range encoder.responses() {
		s.response.ResumeToken, s.response.Freshness = encoded.token, freshness
		setEncoded(&s.response, encoded.events, s.messages)
		err := s.to(&s.response)
		s.response.Reset()
		if err != nil {
			return err
		}
	}
	s.sent.Add(float64(len(batch.Events)))
	s.told = nil
	if position, ok := batch.PositionAfter(len(batch.Events) - 1); ok {
		s.told = &position
	}
	return nil
}

var eventTypes = map[informerhub.EventType]kubeconnectv1.EventType{
	informerhub.Added:    kubeconnectv1.EventType_EVENT_TYPE_ADDED,
	informerhub.Modified: kubeconnectv1.EventType_EVENT_TYPE_MODIFIED,
	informerhub.Deleted:  kubeconnectv1.EventType_EVENT_TYPE_DELETED,
	informerhub.Reset:    kubeconnectv1.EventType_EVENT_TYPE_RESET,
	informerhub.Synced:   kubeconnectv1.EventType_EVENT_TYPE_SYNCED,
	informerhub.Bookmark: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK,
}
