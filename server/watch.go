package server

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// maxResponseBytes is the size at which a message is sent rather than filled
// further. gRPC clients refuse messages over 4 MiB.
const maxResponseBytes = 1 << 20

// eventSender sends the events of one watcher. It is owned by the stream's
// handler.
type eventSender struct {
	stream   *connect.ServerStream[kubeconnectv1.WatchResponse]
	encoding kubeconnectv1.Encoding
	kind     *kubeconnectv1.ResourceKind
	pending  kubeconnectv1.WatchResponse
	bytes    int // of pending's events
}

// follow sends what the watcher answers, until the caller goes or the watch ends.
func (s *eventSender) follow(ctx context.Context, kind *kubeconnectv1.ResourceKind, watcher *informerhub.Watcher) error {
	s.kind = kind
	for {
		events, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.send(events); err != nil {
			return err
		}
	}
}

// send sends a batch in as few messages as their size allows.
func (s *eventSender) send(events []informerhub.Event) error {
	for _, event := range events {
		encoded := s.encode(event)
		size := proto.Size(encoded)
		if event.Type == informerhub.Reset || s.bytes+size > maxResponseBytes {
			if err := s.flush(); err != nil {
				return err
			}
		}
		if event.Type == informerhub.Reset {
			s.pending.Kind = s.kind
		}
		s.pending.Events = append(s.pending.Events, encoded)
		s.bytes += size
	}
	return s.flush()
}

func (s *eventSender) flush() error {
	if len(s.pending.GetEvents()) == 0 {
		return nil
	}
	defer s.pending.Reset()
	s.bytes = 0
	return s.stream.Send(&s.pending)
}

func (s *eventSender) encode(event informerhub.Event) *kubeconnectv1.Event {
	encoded := &kubeconnectv1.Event{
		Type:            eventTypes[event.Type],
		ResourceVersion: event.ResourceVersion,
	}
	if event.Object != nil {
		encoded.Object = encodeObject(event.Object, s.encoding)
	}
	return encoded
}

var eventTypes = map[informerhub.EventType]kubeconnectv1.EventType{
	informerhub.Added:    kubeconnectv1.EventType_EVENT_TYPE_ADDED,
	informerhub.Modified: kubeconnectv1.EventType_EVENT_TYPE_MODIFIED,
	informerhub.Deleted:  kubeconnectv1.EventType_EVENT_TYPE_DELETED,
	informerhub.Reset:    kubeconnectv1.EventType_EVENT_TYPE_RESET,
	informerhub.Synced:   kubeconnectv1.EventType_EVENT_TYPE_SYNCED,
	informerhub.Bookmark: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK,
}
