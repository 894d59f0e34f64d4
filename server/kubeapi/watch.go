package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

const (
	// minWatchTime is the shortest time after which a watch without timeoutSeconds ends; the longest is twice that.
	minWatchTime = 30 * time.Minute
	// bookmarkInterval is the interval of bookmarks.
	bookmarkInterval = time.Minute
	// lastBookmark is the time before the end of a watch at which its last bookmark is sent.
	lastBookmark = 2 * time.Second
	// initialPatience is the time for which the begin of a watch waits until the cache is shown to be current.
	initialPatience = 5 * time.Second
	// patienceShare is how many times longer than initialPatience a watch must be to wait for so long: a shorter one begins soon, or is
	// passed on.
	patienceShare = 6
	// versionTimeout is the time for which a watch waits for a version, as at an API server.
	versionTimeout = 3 * time.Second
)

// watch serves a watch from the cache, or returns errPassOn.
func (h *Handler) watch(ctx context.Context, w http.ResponseWriter, read cachedRead) error {
	permission := access.ToWatchAlone(read.resource, read.namespace, read.fieldSelector())
	lease, err := h.config.Leases.Grant(ctx, permission)
	if err != nil {
		return err
	}
	cache, selection, err := h.open(ctx, read, permission, lease.Scope)
	if err != nil {
		return err
	}
	begin, err := beginOf(ctx, cache, read.options)
	if err != nil {
		return err
	}
	ctx, open, end := h.config.Streams.Begin(ctx, 1)
	defer end()
	s := &watchStream{
		w: w, encoder: read.encoder(), begin: begin, lease: lease, part: &streamlife.StreamPart{Stream: open},
		memory: h.sending, sent: h.config.Metrics.SentMessages(read.resource.String()),
	}
	s.memory.Caller = call.CallerKey(call.IdentityFrom(ctx))
	s.part.SetResource(read.resource)
	s.watcher = cache.Watch(selection, informerhub.WatchOptions{
		Bookmarks: begin.bookmarks, Since: begin.since, SinceTimeout: versionTimeout,
	})
	defer s.watcher.Close()
	return s.serve(ctx)
}

// watchBegin is how a watch begins, and what it sends besides changes. It is a value.
type watchBegin struct {
	since     *informerhub.Position // nil begins with the objects that there are
	version   string                // at which those are, at least; empty for any
	marksEnd  bool                  // a bookmark ends the initial events
	bookmarks time.Duration
	isMarked  bool      // bookmarks are sent
	end       time.Time // of the watch
}

// beginOf returns how a watch with some options begins, when the cache is as new as they require.
func beginOf(ctx context.Context, cache *informerhub.Cache, options internalversion.ListOptions) (b watchBegin, err error) {
	b.isMarked, b.bookmarks = options.AllowWatchBookmarks, bookmarkInterval
	timeout := minWatchTime + rand.N(minWatchTime)
	if options.TimeoutSeconds != nil {
		timeout = time.Duration(*options.TimeoutSeconds) * time.Second
	}
	b.end = time.Now().Add(timeout)
	sendsInitial := options.SendInitialEvents != nil && *options.SendInitialEvents
	b.marksEnd = sendsInitial && b.isMarked
	switch version := options.ResourceVersion; {
	case options.Continue != "", timeout < 0, options.SendInitialEvents != nil && !sendsInitial:
		return b, errPassOn
	case version == "":
		if b.version, err = newest(ctx, cache, newestTimeout); err != nil {
			return b, err
		}
		if timeout < initialPatience*patienceShare {
			return b, await(ctx, cache, b.version)
		}
		return b, passOnUnlessDone(ctx, cache.Await(ctx, b.version, initialPatience))
	case version == "0":
	case !object.IsVersion(version):
		return b, errPassOn
	case sendsInitial:
		b.version = version
		return b, passOnUnlessDone(ctx, cache.Await(ctx, version, versionTimeout))
	default:
		b.since = &informerhub.Position{Version: version}
		return b, checkIssued(ctx, cache, version)
	}
	return b, nil
}

// checkIssued returns errPassOn for a version that the API server has not reached yet: it keeps such a watch open.
func checkIssued(ctx context.Context, cache *informerhub.Cache, version string) error {
	if reached, err := cache.AwaitChanges(ctx, version, newestTimeout); err != nil || reached {
		return passOnUnlessDone(ctx, err)
	}
	current, err := newest(ctx, cache, newestTimeout)
	if err == nil && object.Older(current, version) {
		return errPassOn
	}
	return err
}

// watchStream is an open watch. It is owned by the goroutine that serves it.
type watchStream struct {
	// Set once.
	w       http.ResponseWriter
	encoder encoder
	begin   watchBegin
	lease   *access.Lease
	part    *streamlife.StreamPart
	memory  budget.Messages
	sent    observe.SentMessages
	watcher *informerhub.Watcher

	isSynced  bool // the initial events have been sent
	hasMarked bool // the bookmark before the end was requested
}

// errEnded reports that a watch ends because it cannot continue. It is never returned to callers.
var errEnded = errors.New("the watch has ended")

// serve sends events until the watch ends. A watch that has begun ends without an error, as at an API server: the client continues with
// another one.
func (s *watchStream) serve(ctx context.Context) error {
	setHeaders(s.w.Header(), s.encoder.form.contentType(true))
	s.w.WriteHeader(http.StatusOK)
	s.flush()
	ctx, cancel := context.WithDeadlineCause(ctx, s.begin.end, errEnded)
	defer cancel()
	for {
		if err := s.next(ctx); err != nil {
			if errors.Is(err, errEnded) || ctx.Err() != nil && errors.Is(context.Cause(ctx), errEnded) {
				return nil
			}
			return &writtenError{err}
		}
	}
}

// next waits for a batch, under a valid lease, and sends it.
func (s *watchStream) next(ctx context.Context) error {
	if err := s.lease.RenewUntilValid(ctx, func() error { return nil }); err != nil {
		return err
	}
	period, cancel := s.lease.Period(ctx)
	defer cancel()
	if !s.hasMarked && s.begin.isMarked {
		var cancelMark context.CancelFunc
		period, cancelMark = context.WithDeadlineCause(period, s.begin.end.Add(-lastBookmark), errMark)
		defer cancelMark()
	}
	batch, err := s.watcher.NextUntil(period, s.lease.Changed)
	switch {
	case errors.Is(err, errMark):
		s.hasMarked = true
		s.watcher.RequestBookmark()
		return nil
	case err != nil:
		return s.lease.EndOfPeriod(ctx, err)
	}
	if err := s.part.Settle(false); err != nil {
		return err
	}
	if err := s.send(ctx, batch); err != nil {
		return err
	}
	return s.part.Settle(s.isSynced || s.begin.since != nil)
}

// errMark ends a wait for changes when the last bookmark is due.
var errMark = errors.New("the last bookmark is due")

// send sends a batch.
func (s *watchStream) send(ctx context.Context, batch informerhub.Batch) error {
	held, err := s.memory.Reserve(ctx, batch, 0, false)
	if err != nil {
		return err
	}
	defer held.Release()
	message := informerhub.Derived(batch, encodedKey{s.encoder.form}, func() []byte { return s.encoder.appendEvents(nil, batch.Events) })
	for _, event := range batch.Events {
		switch event.Type {
		case informerhub.Reset:
			if s.begin.since != nil || s.isSynced {
				return s.expire(ctx, batch)
			}
		case informerhub.Synced:
			s.isSynced = true
			s.part.NoteBegun(ctx)
			if s.begin.marksEnd {
				message = s.appendBookmark(message[:len(message):len(message)], s.versionOf(batch), true)
			}
		case informerhub.Bookmark:
			if s.begin.isMarked && (s.isSynced || s.begin.since != nil) {
				message = s.appendBookmark(message[:len(message):len(message)], s.versionOf(batch), false)
			}
		}
	}
	if len(message) == 0 {
		return nil
	}
	if err := s.write(ctx, streamlife.Guard{Contended: held.Awaited}, message); err != nil {
		return err
	}
	s.sent.Add(len(batch.Events), batch.Since)
	call.NoteObjects(ctx, len(batch.Events))
	return nil
}

// versionOf returns the version up to which the client has everything after a batch.
func (s *watchStream) versionOf(batch informerhub.Batch) string {
	version := batch.Position.Version
	if s.begin.version != "" && object.Older(version, s.begin.version) {
		return s.begin.version
	}
	return version
}

// expire ends the watch with 410 Expired, because it cannot continue from where it is.
func (s *watchStream) expire(ctx context.Context, batch informerhub.Batch) error {
	version := "the last one"
	if s.begin.since != nil {
		version = s.begin.since.Version
	}
	status := statusOf(expired(version, batch.Position.Version))
	var encoded []byte
	if s.encoder.form.protobuf {
		encoded = statusMessage(status)
	} else {
		encoded, _ = json.Marshal(status) // never fails
	}
	if err := s.write(ctx, streamlife.Guard{}, s.encoder.appendEvent(nil, string(watch.Error), encoded)); err != nil {
		return err
	}
	return errEnded
}

// write writes a message under a valid lease.
func (s *watchStream) write(ctx context.Context, guarded streamlife.Guard, message []byte) error {
	return s.lease.SendWhenValid(ctx, func() error { return nil }, func() error {
		return s.lease.Send(ctx, guarded, func() error {
			if _, err := s.w.Write(message); err != nil {
				return err
			}
			s.flush()
			return nil
		})
	})
}

func (s *watchStream) flush() { _ = http.NewResponseController(s.w).Flush() }

// appendBookmark appends a bookmark. isEnd marks the end of the initial events.
func (s *watchStream) appendBookmark(dst []byte, version string, isEnd bool) []byte {
	mark := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	if isEnd {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	var encoded []byte
	if s.encoder.form.protobuf {
		message, _ := mark.Marshal() // never fails
		encoded = append(append(appendEnvelope(nil, s.encoder.kind(), len(message)), message...), envelopeEnd...)
	} else {
		mark.SetGroupVersionKind(s.encoder.kind())
		encoded, _ = json.Marshal(mark) // never fails
	}
	return s.encoder.appendEvent(dst, string(watch.Bookmark), encoded)
}

// encodedKey is the key of the encoded events of a batch: see [informerhub.Derived].
type encodedKey struct{ form form }

// appendEvents appends the changes among some events. An object that cannot be read is left out.
func (e encoder) appendEvents(dst []byte, events []informerhub.Event) []byte {
	var encoded []byte
	for _, event := range events {
		eventType, changed := watch.EventType(""), event.Object
		switch event.Type {
		case informerhub.Added:
			eventType = watch.Added
		case informerhub.Modified:
			eventType = watch.Modified
		case informerhub.Deleted:
			eventType, changed = watch.Deleted, event.Object.AtVersion(event.ResourceVersion)
		default:
			continue
		}
		var err error
		if encoded, err = e.appendObject(encoded[:0], changed); err == nil {
			dst = e.appendEvent(dst, string(eventType), encoded)
		}
	}
	return dst
}
