package server

import (
	"context"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// maxResponseBytes is the size at which a message is sent rather than filled
// further. gRPC clients refuse messages over 4 MiB.
const maxResponseBytes = 1 << 20

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

	response kubeconnectv1.WatchResponse // what is sent next
}

// follow sends what the watcher answers, until the caller goes or the watch ends.
func (s *eventSender) follow(ctx context.Context, w *watch) error {
	defer w.watcher.Close()
	s.response.Kind = encodeKind(w.cache.Resource())
	for {
		batch, err := w.watcher.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.send(w, batch); err != nil {
			return err
		}
	}
}

// send sends a batch in as few messages as their size allows. What several streams
// are to send is encoded once for them all.
func (s *eventSender) send(w *watch, batch informerhub.Batch) error {
	switch batch.Events[0].Type {
	case informerhub.Reset:
		s.response.Kind = encodeKind(w.cache.Resource())
	case informerhub.Bookmark:
		s.response.Freshness = encodeFreshness(w.cache.Freshness())
	}
	encoder := batchEncoder{batch: batch, encoding: s.encoding, tokens: w.tokens}
	for encoded := range encoder.responses() {
		setEncoded(&s.response, encoded, s.messages)
		err := s.stream.Send(&s.response)
		s.response.Reset()
		if err != nil {
			return err
		}
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
