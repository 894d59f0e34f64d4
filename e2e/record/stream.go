package record

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Client opens a watch.
type Client interface {
	Watch(context.Context, *kubeconnectv1.WatchRequest) (*connect.ServerStreamForClient[kubeconnectv1.WatchResponse], error)
}

// Stream is a watch that runs, or has ended. Its methods that wait fail the test
// and must be called by the test's own goroutine.
type Stream struct {
	// Set once.
	t      testing.TB
	cancel context.CancelFunc
	ended  chan struct{}      // closed by run, when nothing more will come
	about  validate.Recording // of it, but for the calls

	mu       sync.Mutex // guards the fields below
	said     View
	calls    []validate.Call          // as said; the last is this stream's, the others went before
	more     chan struct{}            // closed when said changes, and made anew
	closed   bool                     // whether it was open when this side closed it
	endSeen  bool                     // whether the test has asked how the stream ended
	evidence func() validate.Evidence // what is known beside it; nil if nothing is
}

// View is what a stream has said up to now.
type View struct {
	// Kind is the last kind that a response named.
	Kind *kubeconnectv1.ResourceKind
	// Events are all events, in order. They must not be changed.
	Events []*kubeconnectv1.Event
	// Responses counts the messages that carried them.
	Responses int
	// Patches counts the events that came as patches. Events has them whole.
	Patches int
	// Points are those at which the stream can be resumed.
	Points []Point
	// Freshness is the last that a response told.
	Freshness *kubeconnectv1.Freshness
	// Model is what a caller holds after them.
	Model validate.Model
	// Ended tells whether the stream has ended, and Err how: nil is the end of a
	// call that went well.
	Ended bool
	Err   error
}

// Point is a place in a stream behind which another one can go on.
type Point struct {
	// Events are those up to this place.
	Events []*kubeconnectv1.Event
	// Token leads back to it.
	Token string

	calls []validate.Call // that had said so much
}

// Watch opens a watch and records it until the test ends. The test fails if the
// stream breaks a rule, or ends by itself and nobody has called End.
func Watch(t testing.TB, client Client, request *kubeconnectv1.WatchRequest) *Stream {
	t.Helper()
	return open(t, client, request, Point{}, validate.Nowhere)
}

// Resume is Watch from a point of an earlier stream of the same selection. What
// that had said counts as said by this one: together they must break no rule.
func Resume(t testing.TB, client Client, request *kubeconnectv1.WatchRequest, from Point) *Stream {
	t.Helper()
	return open(t, client, request, from, validate.Nowhere)
}

// ResumeElsewhere is Resume at a service that does not remember every step since
// the point: it may tell the latest state of what has changed.
func ResumeElsewhere(t testing.TB, client Client, request *kubeconnectv1.WatchRequest, from Point) *Stream {
	t.Helper()
	return open(t, client, request, from, validate.AfterResume)
}

func open(t testing.TB, client Client, request *kubeconnectv1.WatchRequest, from Point, catchUp validate.CatchUp) *Stream {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stream := &Stream{
		t: t, cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}),
		about: validate.Recording{CatchUp: catchUp},
		calls: append(slices.Clip(from.calls), validate.Call{Token: from.Token, Began: time.Now()}),
	}
	request = proto.CloneOf(request)
	request.ResumeToken = from.Token
	for _, event := range from.Events {
		stream.said.apply(event)
	}
	go stream.run(ctx, client, request)
	t.Cleanup(stream.finish)
	return stream
}

// JudgeBy lets the stream be judged by what is known in the end, beside the stream itself.
func (s *Stream) JudgeBy(evidence func() validate.Evidence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evidence = evidence
}

// Close ends the watch from this side and returns when that is done.
func (s *Stream) Close() {
	s.mu.Lock()
	s.closed = s.closed || !s.said.Ended
	s.mu.Unlock()
	s.cancel()
	<-s.ended
}

// Now returns what the stream has said up to now.
func (s *Stream) Now() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said
}

// Recording returns all that the stream has said up to now, and what went before it.
func (s *Stream) Recording() validate.Recording {
	s.mu.Lock()
	defer s.mu.Unlock()
	recording := s.about
	recording.Calls = s.pastLocked()
	return recording
}

// run is the only one that reads from the stream.
func (s *Stream) run(ctx context.Context, client Client, request *kubeconnectv1.WatchRequest) {
	defer close(s.ended)
	defer s.cancel()
	responses, err := client.Watch(ctx, request)
	if err != nil {
		s.end(err)
		return
	}
	for responses.Receive() {
		s.take(responses.Msg())
	}
	s.end(responses.Err())
	_ = responses.Close()
}

func (s *Stream) take(response *kubeconnectv1.WatchResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.take(response)
	call := &s.calls[len(s.calls)-1]
	call.Responses = append(call.Responses, validate.ResponseOf(response))
	if token := response.GetResumeToken(); token != "" {
		s.said.Points = append(s.said.Points, Point{Events: slices.Clip(s.said.Events), Token: token, calls: s.pastLocked()})
	}
	s.wakeLocked()
}

// pastLocked are the calls as they are now.
func (s *Stream) pastLocked() []validate.Call {
	past := slices.Clone(s.calls)
	last := &past[len(past)-1]
	last.Responses = slices.Clip(last.Responses)
	return past
}

func (s *Stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.Ended, s.said.Err = true, err
	s.wakeLocked()
}

func (s *Stream) wakeLocked() {
	close(s.more)
	s.more = make(chan struct{})
}

func (v *View) take(response *kubeconnectv1.WatchResponse) {
	v.Responses++
	if response.GetKind() != nil {
		v.Kind = response.GetKind()
	}
	if response.GetFreshness() != nil {
		v.Freshness = response.GetFreshness()
	}
	for i, event := range response.GetEvents() {
		if event.GetPatch() != kubeconnectv1.PatchType_PATCH_TYPE_UNSPECIFIED {
			v.Patches++
		}
		response.Events[i] = v.Model.Whole(event)
		v.apply(response.GetEvents()[i])
	}
}

func (v *View) apply(event *kubeconnectv1.Event) {
	v.Events = append(v.Events, event)
	v.Model.Apply(event)
}

// finish closes the stream and judges it.
func (s *Stream) finish() {
	s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed && connect.CodeOf(s.said.Err) != connect.CodeCanceled:
		s.t.Errorf("a watch that was cancelled ended with: %v", s.said.Err)
	case !s.closed && !s.endSeen:
		s.t.Errorf("a watch ended by itself: %v", s.said.Err)
	}
	recording := s.about
	recording.Calls = s.calls
	evidence := validate.Evidence{}
	if s.evidence != nil {
		evidence = s.evidence()
	}
	for _, violation := range recording.Violations(evidence) {
		s.t.Error(violation)
	}
}
