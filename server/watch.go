package server

import (
	"context"
	"time"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// maxResponseBytes is the size at which a message is sent rather than filled
// further. gRPC clients refuse messages over 4 MiB.
const maxResponseBytes = 1 << 20

// minSpacing is the least time between two batches of a stream. The first event after
// a quiet time is sent at once; in a burst a message, which costs much more than
// the events in it, carries all that came in this time.
const minSpacing = 3 * time.Millisecond

// maxIdleBytes is how large a buffer a quiet stream may keep.
const maxIdleBytes = 16 << 10

// watch is what one stream follows, until the cluster serves it in another version.
type watch struct {
	cache   *informerhub.Cache
	watcher *informerhub.Watcher
	tokens  tokens
}

// eventSender sends the events of one stream. It is owned by the stream's handler.
type eventSender struct {
	stream   *connect.ServerStream[kubeconnectv1.WatchResponse]
	encoding kubeconnectv1.Encoding
	messages bool // the caller's codec needs messages

	response kubeconnectv1.WatchResponse // what is sent next, but for its events
	events   []byte                      // these, encoded
	sent     time.Time                   // when the last message was
}

// follow sends what the watcher answers, until the caller goes or the watch ends.
func (s *eventSender) follow(ctx context.Context, w *watch) error {
	defer w.watcher.Close()
	s.response.Kind = encodeKind(w.cache.Resource())
	for {
		s.pace()
		batch, err := w.watcher.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.send(w, batch); err != nil {
			return err
		}
	}
}

// pace lets what comes in quick succession wait for one message.
func (s *eventSender) pace() {
	if early := minSpacing - time.Since(s.sent); early > 0 {
		time.Sleep(early)
	}
}

// send sends a batch in as few messages as their size allows.
func (s *eventSender) send(w *watch, batch informerhub.Batch) error {
	for i, event := range batch.Events {
		encoded := encodedEvent(event, s.encoding)
		if len(s.events) > 0 && len(s.events)+len(encoded) > maxResponseBytes {
			if err := s.flush(w, batch, i-1); err != nil {
				return err
			}
		}
		switch event.Type {
		case informerhub.Reset:
			s.response.Kind = encodeKind(w.cache.Resource())
		case informerhub.Bookmark:
			s.response.Freshness = encodeFreshness(w.cache.Freshness())
		}
		s.events = appendField(s.events, watchResponseEvents, encoded)
	}
	return s.flush(w, batch, len(batch.Events)-1)
}

// flush sends the events up to the last one given.
func (s *eventSender) flush(w *watch, batch informerhub.Batch, last int) error {
	if position, ok := batch.PositionAfter(last); ok {
		s.response.ResumeToken = w.tokens.write(position)
	}
	setEncoded(&s.response, s.events, s.messages)
	err := s.stream.Send(&s.response)
	s.sent = time.Now()
	s.response.Reset()
	s.events = s.events[:0]
	if cap(s.events) > maxIdleBytes {
		s.events = nil
	}
	return err
}

var eventTypes = map[informerhub.EventType]kubeconnectv1.EventType{
	informerhub.Added:    kubeconnectv1.EventType_EVENT_TYPE_ADDED,
	informerhub.Modified: kubeconnectv1.EventType_EVENT_TYPE_MODIFIED,
	informerhub.Deleted:  kubeconnectv1.EventType_EVENT_TYPE_DELETED,
	informerhub.Reset:    kubeconnectv1.EventType_EVENT_TYPE_RESET,
	informerhub.Synced:   kubeconnectv1.EventType_EVENT_TYPE_SYNCED,
	informerhub.Bookmark: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK,
}
