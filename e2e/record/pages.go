package record

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// largestPage is the largest limit that a PageFollower chooses, and scrolledObjects the largest
// offset.
const (
	largestPage     = 12
	scrolledObjects = 24
)

// PageFollower is a client that shows a page of a sorted selection and scrolls: whenever its call
// ends, it calls again with the token of the last response and often another range. It calls a random
// one of its clients, as behind a load balancer.
// Its methods that wait fail the test and must be called by the test's own goroutine.
type PageFollower struct {
	// Set once.
	t       testing.TB
	clients []Client
	request *kubeconnectv1.WatchRequest
	stop    context.CancelFunc
	ended   chan struct{} // closed by run, after the last message

	mu         sync.Mutex // guards the fields below
	recording  validate.PageRecording
	page       validate.Page
	disconnect context.CancelFunc // ends the current call
	goBack     bool               // whether the next call resumes from an earlier position
	more       chan struct{}      // closed and replaced when recording changes
}

// FollowPages starts a follower, which ends with the test. The recording has the follower's name. The
// caller of Stop validates it.
func FollowPages(t testing.TB, name string, request *kubeconnectv1.WatchRequest, clients ...Client) *PageFollower {
	t.Helper()
	return FollowRelatedPages(t, name, request, nil, clients...)
}

// FollowRelatedPages is FollowPages for a request with a relation that selects what related selects; nil
// selects any.
func FollowRelatedPages(t testing.TB, name string, request *kubeconnectv1.WatchRequest, related func(validate.Write) bool, clients ...Client) *PageFollower {
	t.Helper()
	selection, err := validate.SelectionOf(request)
	if err != nil {
		t.Fatal(err)
	}
	selection.Related = related
	order, err := validate.OrderOf(request.GetOrderBy())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &PageFollower{
		t: t, clients: clients, request: request, stop: stop, ended: make(chan struct{}), more: make(chan struct{}),
		recording: validate.PageRecording{Recording: validate.Recording{Name: name, Selection: selection}, Order: order},
	}
	go f.run(ctx)
	harness.Cleanup(t, func() { f.Stop() })
	return f
}

// Scroll ends the current call. The next one resumes, often with another range.
func (f *PageFollower) Scroll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.disconnect != nil {
		f.disconnect()
	}
}

// GoBack is Scroll from an earlier message, chosen at random, with the client's page at that message.
func (f *PageFollower) GoBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.goBack = true
	if f.disconnect != nil {
		f.disconnect()
	}
}

// Stop ends the follower and returns its recording.
func (f *PageFollower) Stop() *validate.PageRecording {
	f.stop()
	<-f.ended
	return &f.recording
}

// Reaches blocks until the client knows the page at a version of the cluster, or at a later one.
func (f *PageFollower) Reaches(ctx context.Context, version string) {
	f.t.Helper()
	for {
		f.mu.Lock()
		done, more := reaches(&validate.Model{Synced: f.page.Synced, Version: f.page.Version}, version), f.more
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-more:
		case <-f.ended:
			f.t.Fatalf("%s ended before version %s is reached\n%s", f.recording.Name, version, f.save())
		case <-ctx.Done():
			f.t.Fatalf("%s: still waiting until version %s is reached: %v\n%s", f.recording.Name, version, context.Cause(ctx), f.save())
		}
	}
}

// save writes the recording so far to a file and returns a message with its path.
func (f *PageFollower) save() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := SavePages(&f.recording)
	if err != nil {
		return fmt.Sprintf("cannot save the stream: %v", err)
	}
	return "the complete stream is in " + path
}

// run makes all calls, one after another.
func (f *PageFollower) run(ctx context.Context) {
	defer close(f.ended)
	token := ""
	for ctx.Err() == nil {
		var err error
		token, err = f.call(ctx, token)
		switch {
		case connect.CodeOf(err) == connect.CodeNotFound && token == "":
			continue // the object before the page was deleted, and the call had no token
		case !validate.AsksForNothing(err):
			return // a violation, which the judge reports
		case connect.CodeOf(err) == connect.CodeCanceled:
			continue
		}
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
		}
	}
}

// call makes one call and returns the token for the next one.
func (f *PageFollower) call(ctx context.Context, token string) (string, error) {
	ctx, disconnect := context.WithCancel(ctx)
	defer disconnect()
	request, token := f.begin(token, disconnect)
	responses, err := responses.Of(f.clients[rand.IntN(len(f.clients))].Watch(ctx, request))
	if err != nil {
		f.finish(err)
		return token, err
	}
	defer responses.Close()
	for responses.Receive() {
		token = responses.Msg().GetResumeToken() // if it is empty, an older token cannot be used either
		f.take(validate.ResponseOf(responses.Msg()))
	}
	err = responses.Err()
	if ctx.Err() != nil {
		err = connect.NewError(connect.CodeCanceled, ctx.Err().Error())
	}
	f.finish(err)
	return token, err
}

// begin records that a call begins, and returns its request and resume token.
func (f *PageFollower) begin(token string, disconnect context.CancelFunc) (*kubeconnectv1.WatchRequest, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disconnect = disconnect
	call := validate.Call{Token: token, Began: time.Now()}
	if place, earlier := earlierIn(&f.recording.Recording); f.goBack && earlier != "" {
		call.Token, call.From, f.page = earlier, &place, f.recording.Pages[place.Call][place.Response]
	}
	f.goBack = false
	if call.Token == "" {
		f.page = validate.Page{}
	}
	next := f.rangeLocked(call.Token == "")
	f.recording.Calls, f.recording.Ranges = append(f.recording.Calls, call), append(f.recording.Ranges, next)
	f.recording.Pages = append(f.recording.Pages, nil)
	request := proto.CloneOf(f.request)
	request.ResumeToken = call.Token
	next.Set(request)
	return request, call.Token
}

// rangeLocked returns the range of the next call: that of the previous call, or a random one. Only a
// call with a token may follow an object, because a call without one needs an object that exists.
func (f *PageFollower) rangeLocked(first bool) validate.PageRange {
	next := validate.PageRange{Limit: 1 + rand.Int32N(largestPage), Offset: rand.Int64N(scrolledObjects)}
	switch chance := rand.IntN(4); {
	case first:
	case chance == 0:
		next = f.recording.Ranges[len(f.recording.Ranges)-1]
	case chance == 1 && len(f.page.Objects) > 0:
		after := validate.KeyOf(f.page.Objects[rand.IntN(len(f.page.Objects))])
		next.Offset, next.After = 0, &after
	}
	return next
}

func (f *PageFollower) take(response validate.Response) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.page = f.page.Clone() // the recorded pages do not change
	f.page.Read(&response)
	call := f.callLocked()
	call.Responses = append(call.Responses, response)
	pages := &f.recording.Pages[len(f.recording.Pages)-1]
	*pages = append(*pages, f.page)
	f.wakeLocked()
}

func (f *PageFollower) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := f.callLocked()
	call.Ended, call.Err = time.Now(), err
	f.wakeLocked()
}

func (f *PageFollower) callLocked() *validate.Call {
	return &f.recording.Calls[len(f.recording.Calls)-1]
}

func (f *PageFollower) wakeLocked() {
	close(f.more)
	f.more = make(chan struct{})
}
