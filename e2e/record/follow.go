package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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

// retryDelay is the follower's delay before it calls again after a failed call.
const retryDelay = 100 * time.Millisecond

// meanStepsBack is the mean number of responses that a follower goes back.
const meanStepsBack = 32

// Follower is a client that reconnects: whenever its call ends, because the test hangs up, the link
// breaks or the service ends, it calls again with the token of the last response. It calls a random
// one of its clients, as behind a load balancer.
//
// Its methods that wait fail the test and must be called by the test's own goroutine.
type Follower struct {
	// Set once.
	t       testing.TB
	clients []Client
	request *kubeconnectv1.WatchRequest
	stop    context.CancelFunc
	ended   chan struct{} // closed by run, after the last message

	mu         sync.Mutex // guards the fields below
	recording  validate.Recording
	model      validate.Model
	disconnect context.CancelFunc // ends the current call
	goBack     bool               // whether the next call resumes from an earlier position
	reading    chan struct{}      // closed, except while the follower stalls
	more       chan struct{}      // closed and replaced when recording changes
}

// Follow starts a follower, which ends with the test. The recording has the follower's name. The
// caller of Stop validates it.
func Follow(t testing.TB, name string, request *kubeconnectv1.WatchRequest, clients ...Client) *Follower {
	t.Helper()
	return FollowRelated(t, name, request, nil, clients...)
}

// FollowRelated is Follow for a request with a relation that selects what related selects; nil selects
// any.
func FollowRelated(t testing.TB, name string, request *kubeconnectv1.WatchRequest, related func(validate.Write) bool, clients ...Client) *Follower {
	t.Helper()
	selection, err := validate.SelectionOf(request)
	if err != nil {
		t.Fatal(err)
	}
	selection.Related = related
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &Follower{
		t: t, clients: clients, request: request, stop: stop,
		ended: make(chan struct{}), reading: make(chan struct{}), more: make(chan struct{}),
		recording: validate.Recording{Name: name, Selection: selection},
	}
	close(f.reading)
	go f.run(ctx)
	harness.Cleanup(t, func() { f.Stop() })
	return f
}

// HangUp ends the current call. The follower calls again.
func (f *Follower) HangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.disconnect != nil {
		f.disconnect()
	}
}

// GoBack ends the current call. The next one resumes from an earlier message, chosen at random,
// with the client's state at that message, as a program does that restarts from an old saved state.
func (f *Follower) GoBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.goBack = true
	if f.disconnect != nil {
		f.disconnect()
	}
}

// Stall stops the follower from reading until ReadOn. Until then messages stay in the buffers of
// the connection, and when these are full, in the service.
func (f *Follower) Stall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recording.CatchUp, f.recording.Stalled = validate.Anywhere, true
	f.reading = make(chan struct{})
}

// ReadOn ends a Stall.
func (f *Follower) ReadOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.reading)
}

// CatchUp sets where the follower may receive latest states.
func (f *Follower) CatchUp(where validate.CatchUp) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recording.CatchUp = where
}

// Responses returns the number of messages received.
func (f *Follower) Responses() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := 0
	for _, call := range f.recording.Calls {
		count += len(call.Responses)
	}
	return count
}

// Stop ends the follower and returns its recording.
func (f *Follower) Stop() *validate.Recording {
	f.stop()
	<-f.ended
	return &f.recording
}

// Until blocks until a condition holds for the client's state. The condition must neither block nor
// retain the model. description completes the sentence "still waiting until …" of a failure.
func (f *Follower) Until(ctx context.Context, description string, holds func(*validate.Model) bool) {
	f.t.Helper()
	for {
		f.mu.Lock()
		done, more, last := holds(&f.model), f.more, f.lastLocked()
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-more:
		case <-f.ended:
			f.t.Fatalf("%s ended before %s\n%s\n%s", f.recording.Name, description, last(), f.save())
		case <-ctx.Done():
			f.t.Fatalf("%s: still waiting until %s: %v\n%s\n%s", f.recording.Name, description, context.Cause(ctx), last(), f.save())
		}
	}
}

// save writes the recording so far to a file and returns a message with its path.
func (f *Follower) save() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := SaveArtifact(&f.recording)
	if err != nil {
		return fmt.Sprintf("cannot save the stream: %v", err)
	}
	return "the complete stream is in " + path
}

// Selection returns the selection of the watch.
func (f *Follower) Selection() validate.Selection { return f.recording.Selection }

// Reaches blocks until everything up to a version of the cluster has been delivered.
func (f *Follower) Reaches(ctx context.Context, version string) {
	f.t.Helper()
	f.Until(ctx, "version "+version+" is reached", func(model *validate.Model) bool { return reaches(model, version) })
}

// Synced blocks until the first snapshot is complete.
func (f *Follower) Synced(ctx context.Context) {
	f.t.Helper()
	f.Until(ctx, "the snapshot is complete", func(model *validate.Model) bool { return model.Synced })
}

// Holds blocks until the client's state is exactly what its selection contains after the last
// write, in the namespaces for which maySee is true; nil allows all namespaces.
func (f *Follower) Holds(ctx context.Context, writes *validate.Writes, allowed func(namespace string) bool) {
	f.t.Helper()
	var differences []string
	defer func() {
		if f.t.Failed() && len(differences) > 0 {
			f.t.Logf("%s: %q", f.recording.Name, differences[:min(len(differences), shownEvents)])
		}
	}()
	f.Until(ctx, "its objects are those of the cluster", func(model *validate.Model) bool {
		differences = writes.Differences(f.recording.Selection, model.Objects, allowed)
		return model.Synced && len(differences) == 0
	})
}

// lastLocked returns a function that formats the last events for a failure message.
func (f *Follower) lastLocked() func() string {
	calls := slices.Clone(f.recording.Calls)
	return func() string {
		text := fmt.Sprintf("%d calls, the last:", len(calls))
		if len(calls) == 0 {
			return text
		}
		last := calls[len(calls)-1]
		if last.Err != nil {
			text += fmt.Sprintf("\n  ended: %v", last.Err)
		}
		for _, response := range last.Responses[max(0, len(last.Responses)-shownEvents):] {
			text += fmt.Sprintf("\n  %s %q", response.At.Format(time.TimeOnly), Lines(response.Events))
		}
		return text
	}
}

// run makes all calls, one after another.
func (f *Follower) run(ctx context.Context) {
	defer close(f.ended)
	token := ""
	for ctx.Err() == nil {
		var err error
		token, err = f.call(ctx, token)
		switch {
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
func (f *Follower) call(ctx context.Context, token string) (string, error) {
	ctx, disconnect := context.WithCancel(ctx)
	defer disconnect()
	token = f.begin(token, disconnect)
	request := proto.CloneOf(f.request)
	request.ResumeToken = token
	responses, err := responses.Of(f.clients[rand.IntN(len(f.clients))].Watch(ctx, request))
	if err != nil {
		f.finish(err)
		return token, err
	}
	defer responses.Close()
	for f.mayRead(ctx) && responses.Receive() {
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

// begin records that a call begins, and returns its resume token.
func (f *Follower) begin(token string, disconnect context.CancelFunc) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disconnect = disconnect
	call := validate.Call{Token: token, Began: time.Now()}
	if place, earlier := earlierIn(&f.recording); f.goBack && earlier != "" {
		call.Token, call.From, f.model = earlier, &place, f.recording.ModelAt(place)
	}
	f.goBack = false
	f.recording.Calls = append(f.recording.Calls, call)
	return call.Token
}

// mayRead blocks while the follower stalls. It returns false if ctx is done first.
func (f *Follower) mayRead(ctx context.Context) bool {
	f.mu.Lock()
	reading := f.reading
	f.mu.Unlock()
	select {
	case <-reading:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *Follower) take(response validate.Response) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, event := range response.Events {
		response.Events[i] = f.model.Whole(event)
		f.model.Apply(response.Events[i])
	}
	call := f.callLocked()
	call.Responses = append(call.Responses, response)
	f.wakeLocked()
}

func (f *Follower) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := f.callLocked()
	call.Ended, call.Err = time.Now(), err
	f.wakeLocked()
}

func (f *Follower) callLocked() *validate.Call {
	return &f.recording.Calls[len(f.recording.Calls)-1]
}

func (f *Follower) wakeLocked() {
	close(f.more)
	f.more = make(chan struct{})
}

// earlierIn returns a random earlier position and its resume token; an empty token if there is no
// position from which a call can resume.
func earlierIn(recording *validate.Recording) (place validate.Place, token string) {
	steps := int(rand.ExpFloat64() * meanStepsBack)
	for i, call := range slices.Backward(recording.Calls) {
		for k, response := range slices.Backward(call.Responses) {
			if response.Token == "" {
				continue
			}
			place, token = validate.Place{Call: i, Response: k}, response.Token
			if steps--; steps < 0 {
				return place, token
			}
		}
	}
	return place, token
}
