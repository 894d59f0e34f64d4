package record

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// CountsClient opens a watch of counts.
type CountsClient interface {
	WatchCounts(context.Context, *kubeconnectv1.WatchCountsRequest) (kubeconnectv1connect.ResourceServiceWatchCountsClientStream, error)
}

// CountsFollower is a client of counts that calls again whenever its call ends. It calls a random one
// of its clients, as behind a load balancer.
type CountsFollower struct {
	// Set once.
	t       testing.TB
	clients []CountsClient
	request *kubeconnectv1.WatchCountsRequest
	stop    context.CancelFunc
	ended   chan struct{} // closed by run, after the last message

	mu         sync.Mutex // guards the fields below
	recording  validate.CountsRecording
	version    string             // of the last response
	disconnect context.CancelFunc // ends the current call
	more       chan struct{}      // closed and replaced when recording changes
}

// FollowCounts starts a follower, which ends with the test. The recording has the follower's name.
// The caller of Stop validates it.
func FollowCounts(t testing.TB, name string, request *kubeconnectv1.WatchCountsRequest, clients ...CountsClient) *CountsFollower {
	t.Helper()
	return FollowRelatedCounts(t, name, request, nil, clients...)
}

// FollowRelatedCounts is FollowCounts for a request with a relation that selects what related selects; nil
// selects any.
func FollowRelatedCounts(t testing.TB, name string, request *kubeconnectv1.WatchCountsRequest, related func(validate.Write) bool, clients ...CountsClient) *CountsFollower {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &CountsFollower{
		t: t, clients: clients, request: request, stop: stop, ended: make(chan struct{}), more: make(chan struct{}),
		recording: validate.CountsRecording{Name: name},
	}
	if err := f.recording.ParseCounts(request); err != nil {
		t.Fatal(err)
	}
	f.recording.Selection.Related = related
	go f.run(ctx)
	harness.Cleanup(t, func() { f.Stop() })
	return f
}

// HangUp ends the current call. The follower calls again.
func (f *CountsFollower) HangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.disconnect != nil {
		f.disconnect()
	}
}

// Stop ends the follower and returns its recording.
func (f *CountsFollower) Stop() *validate.CountsRecording {
	f.stop()
	<-f.ended
	return &f.recording
}

// Reaches blocks until the client has the counts at a version of the cluster, or at a later one.
func (f *CountsFollower) Reaches(ctx context.Context, version string) {
	f.t.Helper()
	for {
		f.mu.Lock()
		done, last, more := reaches(&validate.Model{Synced: f.version != "", Version: f.version}, version), f.version, f.more
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-more:
		case <-f.ended:
			f.t.Fatalf("%s ended at version %q, before version %s is reached", f.recording.Name, last, version)
		case <-ctx.Done():
			f.t.Fatalf("%s: still waiting at version %q until version %s is reached: %v", f.recording.Name, last, version, context.Cause(ctx))
		}
	}
}

// run makes all calls, one after another.
func (f *CountsFollower) run(ctx context.Context) {
	defer close(f.ended)
	for ctx.Err() == nil {
		err := f.call(ctx)
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

func (f *CountsFollower) call(ctx context.Context) error {
	ctx, disconnect := context.WithCancel(ctx)
	defer disconnect()
	f.mu.Lock()
	f.disconnect, f.version = disconnect, ""
	f.recording.Calls = append(f.recording.Calls, validate.CountsCall{})
	f.mu.Unlock()
	responses, err := responses.Of(f.clients[rand.IntN(len(f.clients))].WatchCounts(ctx, f.request))
	if err == nil {
		for responses.Receive() {
			f.take(responses.Msg())
		}
		err = responses.Err()
		_ = responses.Close()
	}
	if ctx.Err() != nil {
		err = connect.NewError(connect.CodeCanceled, ctx.Err().Error())
	}
	f.change(func(call *validate.CountsCall) { call.Ended, call.Err = time.Now(), err })
	return err
}

func (f *CountsFollower) take(message *kubeconnectv1.WatchCountsResponse) {
	f.change(func(call *validate.CountsCall) {
		call.Responses = append(call.Responses, validate.CountsResponse{At: time.Now(), Message: message})
		if message.GetResourceVersion() != "" {
			f.version = message.GetResourceVersion()
		}
	})
}

// change changes the current call and wakes the waiters.
func (f *CountsFollower) change(edit func(*validate.CountsCall)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit(&f.recording.Calls[len(f.recording.Calls)-1])
	close(f.more)
	f.more = make(chan struct{})
}
