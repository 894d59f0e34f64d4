package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// callAgain is how long a follower waits after a call that did not get through.
const callAgain = 100 * time.Millisecond

// keptPoints is how many of the places that a follower has passed it can go back to.
const keptPoints = 32

// point is a place in a recording, and what the follower held there.
type point struct {
	place validate.Place
	token string
	model validate.Model
}

// Follower is a caller that stays: whenever its call ends, be it that the test hangs
// up, that the link breaks or that the service goes, it calls again with the token of
// the last response. It calls any of its clients, as behind a load balancer.
//
// Its methods that wait fail the test and must be called by the test's own goroutine.
type Follower struct {
	// Set once.
	t       testing.TB
	clients []Client
	request *kubeconnectv1.WatchRequest
	stop    context.CancelFunc
	ended   chan struct{} // closed by run, when nothing more will come

	mu        sync.Mutex // guards the fields below
	recording validate.Recording
	model     validate.Model
	hangUp    context.CancelFunc // ends the call under way
	points    []point            // some of those from which a call can go on
	goBack    bool               // whether the next call goes on from one of them
	reading   chan struct{}      // closed, but while the follower stalls
	more      chan struct{}      // closed when recording changes, and made anew
}

// Follow starts a follower, which ends with the test. What it has recorded is judged
// by whoever calls Stop. The recording's name is the follower's.
func Follow(t testing.TB, name string, request *kubeconnectv1.WatchRequest, clients ...Client) *Follower {
	t.Helper()
	selection, err := validate.SelectionOf(request)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &Follower{
		t: t, clients: clients, request: request, stop: stop,
		ended: make(chan struct{}), reading: make(chan struct{}), more: make(chan struct{}),
		recording: validate.Recording{Name: name, Selection: selection},
	}
	close(f.reading)
	go f.run(ctx)
	t.Cleanup(func() { f.Stop() })
	return f
}

// HangUp ends the call under way. The follower makes another one.
func (f *Follower) HangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hangUp != nil {
		f.hangUp()
	}
}

// GoBack ends the call under way. The next one goes on from an older message, at random
// from all that came, with what the follower held then: as a program does that was started
// again from an old state.
func (f *Follower) GoBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.goBack = true
	if f.hangUp != nil {
		f.hangUp()
	}
}

// Stall lets the follower read nothing until ReadOn. Until then what it is told stays
// in the buffers on the way, and when these are full, with the service.
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

// CatchUp says where the follower may be told latest states.
func (f *Follower) CatchUp(where validate.CatchUp) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recording.CatchUp = where
}

// Responses is how many messages there have been.
func (f *Follower) Responses() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := 0
	for _, call := range f.recording.Calls {
		count += len(call.Responses)
	}
	return count
}

// Stop ends the follower and returns what it has recorded.
func (f *Follower) Stop() *validate.Recording {
	f.stop()
	<-f.ended
	return &f.recording
}

// Until waits until a condition holds for what the follower holds. The condition must
// neither block nor keep the model.
func (f *Follower) Until(ctx context.Context, what string, holds func(*validate.Model) bool) {
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
			f.t.Fatalf("%s has ended before %s\n%s\n%s", f.recording.Name, what, last(), f.save())
		case <-ctx.Done():
			f.t.Fatalf("%s: still waiting until %s: %v\n%s\n%s", f.recording.Name, what, context.Cause(ctx), last(), f.save())
		}
	}
}

// save keeps all that was recorded up to now, and says where.
func (f *Follower) save() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := Save(Artifacts, &f.recording)
	if err != nil {
		return fmt.Sprintf("the stream was not kept: %v", err)
	}
	return "all of the stream is in " + path
}

// Selection is what it follows.
func (f *Follower) Selection() validate.Selection { return f.recording.Selection }

// Reaches waits until everything up to a version of the cluster has been told.
func (f *Follower) Reaches(ctx context.Context, version string) {
	f.t.Helper()
	f.Until(ctx, "version "+version+" is reached", func(model *validate.Model) bool { return reaches(model, version) })
}

// Synced waits until the first snapshot is complete.
func (f *Follower) Synced(ctx context.Context) {
	f.t.Helper()
	f.Until(ctx, "the snapshot is complete", func(model *validate.Model) bool { return model.Synced })
}

// Holds waits until the follower holds exactly what its selection held in the end, where
// it may see it; nil is everywhere.
func (f *Follower) Holds(ctx context.Context, writes *validate.Writes, maySee func(namespace string) bool) {
	f.t.Helper()
	var differences []string
	defer func() {
		if f.t.Failed() && len(differences) > 0 {
			f.t.Logf("%s: %q", f.recording.Name, differences[:min(len(differences), shownEvents)])
		}
	}()
	f.Until(ctx, "it holds what the cluster holds", func(model *validate.Model) bool {
		differences = writes.Differences(f.recording.Selection, model.Objects, maySee)
		return model.Synced && len(differences) == 0
	})
}

// lastLocked shows the last events, for people.
func (f *Follower) lastLocked() func() string {
	calls := slices.Clone(f.recording.Calls)
	return func() string {
		text := fmt.Sprintf("%d calls, the last one:", len(calls))
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

// run is the only one that calls.
func (f *Follower) run(ctx context.Context) {
	defer close(f.ended)
	token := ""
	for ctx.Err() == nil {
		var err error
		token, err = f.call(ctx, token)
		switch {
		case !validate.AsksForNothing(err):
			return // the judge will say what is wrong with that
		case connect.CodeOf(err) == connect.CodeCanceled:
			continue
		}
		select {
		case <-time.After(callAgain):
		case <-ctx.Done():
		}
	}
}

// call makes one call and returns the token to go on with.
func (f *Follower) call(ctx context.Context, token string) (string, error) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	token = f.begin(token, hangUp)
	request := proto.CloneOf(f.request)
	request.ResumeToken = token
	responses, err := f.clients[rand.IntN(len(f.clients))].Watch(ctx, request)
	if err != nil {
		f.finish(err)
		return token, err
	}
	defer responses.Close()
	for f.mayRead(ctx) && responses.Receive() {
		token = responses.Msg().GetResumeToken() // if empty, an older one is of no use
		f.take(validate.ResponseOf(responses.Msg()))
	}
	err = responses.Err()
	if ctx.Err() != nil {
		err = connect.NewError(connect.CodeCanceled, ctx.Err())
	}
	f.finish(err)
	return token, err
}

// begin notes that a call begins, and returns the token that it is to present.
func (f *Follower) begin(token string, hangUp context.CancelFunc) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hangUp = hangUp
	call := validate.Call{Token: token, Began: time.Now()}
	if f.goBack && len(f.points) > 0 {
		back := f.points[rand.IntN(len(f.points))]
		call.Token, call.From, f.model = back.token, &back.place, back.model.Clone()
	}
	f.goBack = false
	f.recording.Calls = append(f.recording.Calls, call)
	return call.Token
}

// mayRead waits while the follower stalls.
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
	f.keepLocked(response.Token)
	f.wakeLocked()
}

// keepLocked keeps the place behind the last response, instead of another one if there are
// enough.
func (f *Follower) keepLocked(token string) {
	if token == "" {
		return
	}
	calls := f.recording.Calls
	place := validate.Place{Call: len(calls) - 1, Response: len(f.callLocked().Responses) - 1}
	kept := point{place: place, token: token, model: f.model.Clone()}
	if len(f.points) < keptPoints {
		f.points = append(f.points, kept)
		return
	}
	f.points[rand.IntN(keptPoints)] = kept
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
