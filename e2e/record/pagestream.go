package record

import (
	"context"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// PageStream is one watch of a page, open or ended. At the end of the test it is validated. Its
// methods that wait fail the test and must be called by the test's own goroutine.
type PageStream struct {
	// Set once.
	t      testing.TB
	cancel context.CancelFunc
	ended  chan struct{} // closed by run, after the last message

	mu        sync.Mutex // guards the fields below
	recording validate.PageRecording
	page      PageView
	more      chan struct{} // closed and replaced when page changes
	done      bool          // whether the stream has ended
	expected  bool          // whether the test has called End
}

// PageView is what a stream of a page has delivered so far.
type PageView struct {
	validate.Page
	// Token is the resume token of the last response.
	Token string
	// Namespaces are those of the last response with a resource.
	Namespaces []string
	// States is the number of responses with a page state.
	States int
	// Err is the error with which the stream has ended.
	Err error
}

// WatchPage opens a watch of a page until the test ends. The page of a resumed watch is that of the
// response with the request's resume token.
func WatchPage(t testing.TB, client Client, request *kubeconnectv1.WatchRequest, resumed validate.Page) *PageStream {
	t.Helper()
	selection, err := validate.SelectionOf(request)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	asked := validate.PageRange{Limit: request.GetLimit(), Offset: request.GetOffset()}
	if after := request.GetAfter(); after != nil {
		asked.After = &validate.Key{Namespace: after.GetNamespace(), Name: after.GetName()}
	}
	s := &PageStream{
		t: t, cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}), page: PageView{Page: resumed.Clone()},
		recording: validate.PageRecording{
			Recording: validate.Recording{Name: t.Name(), Selection: selection, Calls: []validate.Call{{Token: request.GetResumeToken(), Began: time.Now()}}},
			Ranges:    []validate.PageRange{asked}, Resumed: resumed.Clone(), Pages: [][]validate.Page{nil},
		},
	}
	go s.run(ctx, client, proto.CloneOf(request))
	harness.Cleanup(t, s.finish)
	return s
}

// Close ends the watch from the client's side and blocks until it has ended.
func (s *PageStream) Close() {
	s.cancel()
	<-s.ended
}

// Until returns what the stream has delivered once the condition holds for it. description completes
// the sentence "still waiting until …" of a failure.
func (s *PageStream) Until(ctx context.Context, description string, holds func(*PageView) bool) PageView {
	s.t.Helper()
	for {
		s.mu.Lock()
		view, held, more, done := s.page, s.page.State != nil && holds(&s.page), s.more, s.done
		s.mu.Unlock()
		switch {
		case held:
			return view
		case done:
			s.t.Fatalf("the watch ended before %s: %v", description, view.Err)
		}
		select {
		case <-more:
		case <-ctx.Done():
			s.t.Fatalf("still waiting until %s: %v; the page is %q, its state %v", description, context.Cause(ctx), ObjectLines(view.Objects), view.State)
		}
	}
}

// End blocks until the stream has ended, and returns its error.
func (s *PageStream) End(ctx context.Context) error {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-ctx.Done():
		s.t.Fatalf("still waiting until the watch ends: %v", context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = true
	return s.page.Err
}

// run is the only reader of the stream.
func (s *PageStream) run(ctx context.Context, client Client, request *kubeconnectv1.WatchRequest) {
	defer close(s.ended)
	defer s.cancel()
	responses, err := responses.Of(client.Watch(ctx, request))
	if err == nil {
		for responses.Receive() {
			s.take(responses.Msg())
		}
		err = responses.Err()
		_ = responses.Close()
	}
	if ctx.Err() != nil {
		err = connect.NewError(connect.CodeCanceled, ctx.Err().Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page.Err, s.done = err, true
	s.wakeLocked()
}

func (s *PageStream) take(message *kubeconnectv1.WatchResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	response := validate.ResponseOf(message)
	s.page.Page = s.page.Page.Clone() // views that Until has returned do not change
	s.page.Read(&response)
	s.page.Token = message.GetResumeToken()
	if message.GetResource() != nil {
		s.page.Namespaces = message.GetNamespaces()
	}
	if message.GetPage() != nil {
		s.page.States++
	}
	call := &s.recording.Calls[0]
	call.Responses = append(call.Responses, response)
	s.recording.Pages[0] = append(s.recording.Pages[0], s.page.Page)
	s.wakeLocked()
}

func (s *PageStream) wakeLocked() {
	close(s.more)
	s.more = make(chan struct{})
}

// finish closes the stream and validates it.
func (s *PageStream) finish() {
	s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.expected && connect.CodeOf(s.page.Err) != connect.CodeCanceled {
		s.t.Errorf("a watch ended before it was closed: %v", s.page.Err)
	}
	for _, violation := range s.recording.Violations(validate.Evidence{}) {
		s.t.Error(violation)
	}
}
