package record

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// Client opens a watch.
type Client interface {
	Watch(context.Context, *kubeconnectv1.WatchRequest) (kubeconnectv1connect.ResourceServiceWatchClientStream, error)
}

// Stream is a watch, open or ended. Its methods that wait fail the test and must be called by the
// test's own goroutine.
type Stream struct {
	// Set once.
	t         testing.TB
	cancel    context.CancelFunc
	ended     chan struct{}      // closed by run, after the last message
	recording validate.Recording // the recording without its calls

	mu       sync.Mutex // guards the fields below
	view     View
	calls    []validate.Call          // the last is this stream's, the others are of the streams that it resumes
	more     chan struct{}            // closed and replaced when said changes
	closed   bool                     // whether Close was called while the stream was open
	endSeen  bool                     // whether the test has called End
	evidence func() validate.Evidence // returns the evidence for the validation; nil if there is none
}

// View is what a stream has delivered so far.
type View struct {
	// Kind is the last kind in a response.
	Kind *kubeconnectv1.Resource
	// Events holds all events, in order. They must not be changed.
	Events []*kubeconnectv1.Event
	// Responses is the number of messages.
	Responses int
	// Patches is the number of events that arrived as patches. Events has their complete objects.
	Patches int
	// Points holds the positions at which the stream can be resumed.
	Points []Point
	// Freshness is that of the last response that had one.
	Freshness *kubeconnectv1.Freshness
	// Model is the client's state after Events.
	Model validate.Model
	// Ended reports whether the stream has ended. Err is its error; nil after a call that ended
	// with success.
	Ended bool
	Err   error
}

// Point is a position in a stream from which another stream can resume.
type Point struct {
	// Events holds the events up to this position.
	Events []*kubeconnectv1.Event
	// Token is the resume token of this position.
	Token string

	calls []validate.Call // the calls up to this position
}

// Watch opens a watch and records it until the test ends. The test fails if the stream violates a
// guarantee, or if it ends before the test closes it and the test has not called End.
func Watch(t testing.TB, client Client, request *kubeconnectv1.WatchRequest) *Stream {
	t.Helper()
	return open(t, client, request, Point{}, validate.Nowhere)
}

// Resume is Watch from a point of an earlier stream of the same selection. The two streams are
// validated as one recording.
func Resume(t testing.TB, client Client, request *kubeconnectv1.WatchRequest, from Point) *Stream {
	t.Helper()
	return open(t, client, request, from, validate.Nowhere)
}

// ResumeElsewhere is Resume at a service that does not have every step since the point: it may send
// the latest state of each changed object.
func ResumeElsewhere(t testing.TB, client Client, request *kubeconnectv1.WatchRequest, from Point) *Stream {
	t.Helper()
	return open(t, client, request, from, validate.AfterResume)
}

func open(t testing.TB, client Client, request *kubeconnectv1.WatchRequest, from Point, catchUp validate.CatchUp) *Stream {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stream := &Stream{
		t: t, cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}),
		recording: validate.Recording{CatchUp: catchUp},
		calls:     append(slices.Clip(from.calls), validate.Call{Token: from.Token, Began: time.Now()}),
	}
	request = proto.CloneOf(request)
	request.ResumeToken = from.Token
	for _, event := range from.Events {
		stream.view.apply(event)
	}
	go stream.run(ctx, client, request)
	harness.Cleanup(t, stream.finish)
	return stream
}

// JudgeBy sets the evidence, beyond the stream itself, for the validation when the test ends.
func (s *Stream) JudgeBy(evidence func() validate.Evidence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evidence = evidence
}

// Close ends the watch from the client's side and blocks until it has ended.
func (s *Stream) Close() {
	s.mu.Lock()
	s.closed = s.closed || !s.view.Ended
	s.mu.Unlock()
	s.cancel()
	<-s.ended
}

// Now returns what the stream has delivered so far.
func (s *Stream) Now() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

// Recording returns the recording so far, with the calls of the streams that it resumes.
func (s *Stream) Recording() validate.Recording {
	s.mu.Lock()
	defer s.mu.Unlock()
	recording := s.recording
	recording.Calls = s.pastLocked()
	return recording
}

// run is the only reader of the stream.
func (s *Stream) run(ctx context.Context, client Client, request *kubeconnectv1.WatchRequest) {
	defer close(s.ended)
	defer s.cancel()
	responses, err := responses.Of(client.Watch(ctx, request))
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
	s.view.take(response)
	call := &s.calls[len(s.calls)-1]
	call.Responses = append(call.Responses, validate.ResponseOf(response))
	if token := response.GetResumeToken(); token != "" {
		s.view.Points = append(s.view.Points, Point{Events: slices.Clip(s.view.Events), Token: token, calls: s.pastLocked()})
	}
	s.wakeLocked()
}

// pastLocked returns a copy of the calls that later messages do not change.
func (s *Stream) pastLocked() []validate.Call {
	past := slices.Clone(s.calls)
	last := &past[len(past)-1]
	last.Responses = slices.Clip(last.Responses)
	return past
}

func (s *Stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Ended, s.view.Err = true, err
	s.wakeLocked()
}

func (s *Stream) wakeLocked() {
	close(s.more)
	s.more = make(chan struct{})
}

func (v *View) take(response *kubeconnectv1.WatchResponse) {
	v.Responses++
	if response.GetResource() != nil {
		v.Kind = response.GetResource()
	}
	if response.GetFreshness() != nil {
		v.Freshness = response.GetFreshness()
	}
	for i, event := range response.GetEvents() {
		if event.GetPatchFormat() != kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED {
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

// finish closes the stream and validates it.
func (s *Stream) finish() {
	s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed && connect.CodeOf(s.view.Err) != connect.CodeCanceled:
		s.t.Errorf("a cancelled watch ended with: %v", s.view.Err)
	case !s.closed && !s.endSeen:
		s.t.Errorf("a watch ended before it was closed: %v", s.view.Err)
	}
	recording := s.recording
	recording.Calls = s.calls
	evidence := validate.Evidence{}
	if s.evidence != nil {
		evidence = s.evidence()
	}
	for _, violation := range recording.Violations(evidence) {
		s.t.Error(violation)
	}
}
