package streamlife

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// errAged ends a watch that has reached its maximum age.
var errAged = apierror.Failure(callerrors.ReasonStreamMoved, "the stream has reached its maximum age: resume it over a new connection")

// Streams are the open watches. Its methods are safe for concurrent use.
type Streams struct {
	maxAge time.Duration // set once; 0 for no limit

	mu   sync.Mutex // guards open; taken before the lock of an OpenStream
	open map[*OpenStream]struct{}
}

// NewStreams returns streams that end at maxAge, with a jitter of a third, at a point where they
// can be resumed; 0 is no limit. Their clients open another connection for them, if the
// connections' server uses [WithConnection].
func NewStreams(maxAge time.Duration) *Streams {
	return &Streams{maxAge: maxAge, open: map[*OpenStream]struct{}{}}
}

// OpenStream is a Watch, a WatchCounts, or a WatchMany with several watches and counts: its parts. It
// ends early only at a point where its client can resume it: between messages, when each part that
// has not ended can be resumed after everything that it has sent.
type OpenStream struct {
	began  time.Time // set once, like drain and cancel
	drain  func()
	cancel context.CancelCauseFunc

	mu        sync.Mutex // guards the fields below
	unsettled int        // number of parts that have sent something without a resume token, or nothing yet
	reason    error      // the reason for which the stream is to end; nil if it is not
	resources map[*StreamPart]informerhub.Resource
}

// Begin adds a stream of several parts. Its context is canceled when the stream is to end early.
// The caller must call end.
func (s *Streams) Begin(ctx context.Context, parts int) (_ context.Context, stream *OpenStream, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stream = &OpenStream{began: time.Now(), drain: connectionOf(ctx).drain, cancel: cancel, unsettled: parts, resources: map[*StreamPart]informerhub.Resource{}}
	s.mu.Lock()
	s.open[stream] = struct{}{}
	s.mu.Unlock()
	stop := stream.endAt(s.maxAge)
	return ctx, stream, func() {
		stop()
		cancel(nil)
		s.mu.Lock()
		delete(s.open, stream)
		s.mu.Unlock()
	}
}

func (s *Streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// countEnding returns the number of open streams that end as soon as they can be resumed.
func (s *Streams) countEnding() (ending int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream := range s.open {
		if stream.isEnding() {
			ending++
		}
	}
	return ending
}

// endSome ends at most count of the streams that condition holds for, and returns the number ended.
func (s *Streams) endSome(count int, reason error, condition func(*OpenStream) bool) (ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream := range s.open {
		if ended >= count {
			break
		}
		if stream.isEnding() || !condition(stream) {
			continue
		}
		stream.end(reason)
		ended++
	}
	return ended
}

// endAt ends the stream at an age, with a jitter of a third, so that streams that were opened
// together do not end together.
func (o *OpenStream) endAt(age time.Duration) (stop func()) {
	if age <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(age*2/3+rand.N(age*2/3+1), func() { o.end(errAged) })
	return func() { timer.Stop() }
}

// end ends the stream as soon as its client can resume it, and drains its connection so that the
// client opens another one.
func (o *OpenStream) end(reason error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reason = reason
	o.endIfSettledLocked()
}

func (o *OpenStream) isEnding() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reason != nil
}

// follows reports whether one of the stream's parts follows one of the resources.
func (o *OpenStream) follows(resources map[string]bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, resource := range o.resources {
		if resources[resource.String()] {
			return true
		}
	}
	return false
}

func (o *OpenStream) endIfSettledLocked() {
	if o.reason == nil || o.unsettled > 0 {
		return
	}
	o.drain()
	o.cancel(o.reason)
}

// StreamPart is one watch of a stream, or its counts. It is owned by the goroutine that follows them.
// The methods of a nil StreamPart, which is of a watch that is not in a stream, do nothing.
type StreamPart struct {
	Stream  *OpenStream
	settled bool
	begun   bool // see NoteBegun
}

// Settle records whether the client can resume after everything that the part has sent. If the
// stream has ended, it returns the reason, and the part must send nothing more.
func (p *StreamPart) Settle(settled bool) error {
	if p == nil {
		return nil
	}
	p.Stream.mu.Lock()
	defer p.Stream.mu.Unlock()
	if p.Stream.reason != nil && p.Stream.unsettled == 0 {
		return p.Stream.reason
	}
	switch {
	case settled && !p.settled:
		p.Stream.unsettled--
	case !settled && p.settled:
		p.Stream.unsettled++
	}
	p.settled = settled
	p.Stream.endIfSettledLocked()
	return nil
}

// SetResource records the resource that the part follows.
func (p *StreamPart) SetResource(resource informerhub.Resource) {
	if p == nil {
		return
	}
	p.Stream.mu.Lock()
	defer p.Stream.mu.Unlock()
	p.Stream.resources[p] = resource
}

// End records that the part has ended, while the other parts of its stream continue. The part must
// send nothing more.
func (p *StreamPart) End() {
	_ = p.Settle(true) // the client can resume the others
	p.Stream.mu.Lock()
	defer p.Stream.mu.Unlock()
	delete(p.Stream.resources, p)
}

type connectionKey struct{}

// WithConnection returns a context for the requests of one connection. drain is called when a stream
// ends so that its client resumes it elsewhere: it must make the client open another connection for
// its next calls, and must not block. drop closes the connection.
func WithConnection(ctx context.Context, drain, drop func()) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection{drain, drop})
}

type connection struct{ drain, drop func() }

// connectionOf returns the connection of a request. Without one, its functions do nothing.
func connectionOf(ctx context.Context) connection {
	if of, ok := ctx.Value(connectionKey{}).(connection); ok {
		return of
	}
	nothing := func() {}
	return connection{nothing, nothing}
}

// Drain drains the connection of a request; see [WithConnection].
func Drain(ctx context.Context) { connectionOf(ctx).drain() }

// NoteBegun records, for traces and for the pace of the caller's streams, that the client has the first
// complete state of this part, or will have none. Further calls have no effect.
func (p *StreamPart) NoteBegun(ctx context.Context) {
	if p != nil && !p.begun {
		p.begun = true
		call.NoteBegun(ctx)
	}
}

// NoteReset records, for traces, that this part begins a snapshot, if it has begun before.
func (p *StreamPart) NoteReset(ctx context.Context) {
	if p != nil && p.begun {
		call.NoteReset(ctx)
	}
}
