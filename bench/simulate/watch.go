package simulate

import (
	"context"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// bookmarkInterval is the time between two bookmarks, and bookmarkBeforeEnd that between the last
	// one and the timeout of a watch, as in an API server.
	bookmarkInterval  = time.Minute
	bookmarkBeforeEnd = 2 * time.Second
	// defaultTimeout is the duration of a watch that requests none.
	defaultTimeout = 30 * time.Minute
	// eventsAtOnce is the number of events that are examined at once.
	eventsAtOnce = 256
)

// watching is a running watch.
type watching struct {
	handler   *Handler
	requested request
	out       http.ResponseWriter
	sequence  uint64 // of the last event that was sent or skipped
	buffer    []byte
}

// watch writes the events of a watch until the client disconnects, the watch times out, or all watches
// expire.
func (h *Handler) watch(w http.ResponseWriter, r *http.Request, requested request) error {
	if err := h.reach(r, requested.version); err != nil {
		return err
	}
	running := &watching{handler: h, requested: requested, out: w}
	initial := requested.options.SendInitialEvents != nil && *requested.options.SendInitialEvents
	var states []state
	var version uint64
	var err error
	if initial || requested.version == 0 {
		states, version, running.sequence, err = h.pods.snapshot(requested.selected, 0)
	} else {
		running.sequence, err = h.pods.locate(requested.version)
	}
	if err != nil {
		return err
	}
	if initial {
		h.snapshots.Add(1)
	}
	ended := h.watchStarted()
	defer h.openWatches.Add(-1)
	w.Header().Set("Content-Type", requested.template.encoding.contentType(true))
	if err := running.sendInitial(states); err != nil {
		return nil // the client has disconnected
	}
	if initial {
		if err := running.bookmark(version, true); err != nil {
			return nil
		}
	}
	if err := running.follow(r.Context(), ended); err != nil {
		_ = running.sendError(err)
	}
	return nil
}

// sendInitial sends pods as they were at the beginning.
func (w *watching) sendInitial(states []state) error {
	added := w.requested.template.events[eventAdded]
	for i, s := range states {
		w.buffer = added.append(w.buffer, w.handler.pods, w.requested.selected.from+i, s)
		if len(w.buffer) >= writeSize {
			if err := w.write(); err != nil {
				return err
			}
		}
	}
	return w.flush()
}

// follow sends events. It returns an error for the client, or nil when the watch has ended.
func (w *watching) follow(ctx context.Context, ended <-chan struct{}) error {
	timeout := defaultTimeout
	if seconds := w.requested.options.TimeoutSeconds; seconds != nil {
		timeout = time.Duration(*seconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	bookmarks := time.NewTimer(min(bookmarkInterval, max(timeout-bookmarkBeforeEnd, 0)))
	defer bookmarks.Stop()
	for {
		events, last, next, err := w.handler.pods.after(w.sequence, w.requested.selected, eventsAtOnce)
		if err != nil {
			return err
		}
		sent := w.send(events)
		moved := last != w.sequence
		w.sequence = last
		if sent != nil {
			return nil // the client has disconnected
		}
		if moved {
			continue
		}
		select {
		case <-next:
		case <-bookmarks.C:
			if w.requested.options.AllowWatchBookmarks && w.bookmark(w.handler.pods.versionAt(w.sequence), false) != nil {
				return nil
			}
			bookmarks.Reset(bookmarkInterval)
		case <-ended:
			return ErrExpired
		case <-ctx.Done():
			return nil
		}
	}
}

// send sends events, and counts them.
func (w *watching) send(events []event) error {
	if len(events) == 0 {
		return nil
	}
	for _, e := range events {
		w.buffer = w.requested.template.events[e.kind].append(w.buffer, w.handler.pods, e.number, e.after)
	}
	w.handler.sentEvents.Add(int64(len(events)))
	return w.flush()
}

// bookmark sends a bookmark, which is marked if it ends the initial events.
func (w *watching) bookmark(version uint64, initialEnd bool) error {
	meta := metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if initialEnd {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	var object encodable = &corev1.Pod{ObjectMeta: meta}
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	if w.requested.metadata {
		object = &metav1.PartialObjectMetadata{ObjectMeta: meta}
		kind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	}
	return w.sendObject(eventBookmark, object, kind)
}

func (w *watching) sendError(err error) error {
	status := asStatus(apierrors.NewResourceExpired(err.Error()))
	return w.sendObject(eventError, &status, schema.GroupVersionKind{Version: "v1", Kind: "Status"})
}

func (w *watching) sendObject(event string, object encodable, kind schema.GroupVersionKind) error {
	message, err := w.requested.template.encoding.event(event, object, kind)
	if err != nil {
		return err
	}
	w.buffer = append(w.buffer, message...)
	return w.flush()
}

func (w *watching) write() error {
	_, err := w.out.Write(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

func (w *watching) flush() error {
	if err := w.write(); err != nil {
		return err
	}
	return http.NewResponseController(w.out).Flush()
}
