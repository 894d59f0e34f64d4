package record_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStream_WaitEndsWhenItsConditionHolds(t *testing.T) {
	script := newScript(t)
	stream := record.Watch(t, script.client(), &kubeconnectv1.WatchRequest{})
	script.says(reset(), synced("3"))
	if view := stream.Synced(t.Context()); view.Model.Version != "3" {
		t.Errorf("synced at %q, want 3", view.Model.Version)
	}
	script.says(added("a", "5"))
	view := stream.Reaches(t.Context(), "4")
	if got, want := record.Lines(view.Events), []string{"RESET@", "SYNCED@3", "ADDED ns/a@5"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	if got := record.Lines(record.AfterSnapshot(view.Events)); !slices.Equal(got, []string{"ADDED ns/a@5"}) {
		t.Errorf("after the snapshot %q", got)
	}
}

func TestStream_EndReturnsTheError(t *testing.T) {
	script := newScript(t)
	stream := record.Watch(t, script.client(), &kubeconnectv1.WatchRequest{})
	script.says(reset(), synced("3"))
	script.ends(connect.NewError(connect.CodeNotFound, "deleted"))
	if err := stream.End(t.Context()); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("ended with %v", err)
	}
}

func TestStream_FailuresFailTheTest(t *testing.T) {
	for name, test := range map[string]struct {
		play func(context.Context, *script, *record.Stream)
		want string
	}{
		"when a stream violates a guarantee": {
			play: func(ctx context.Context, script *script, stream *record.Stream) {
				script.says(reset(), synced("3"), added("a", "2"))
				stream.Until(ctx, "it is added", func(view *record.View) bool { return len(view.Model.Objects) == 1 })
			},
			want: "events are sent in order of their versions",
		},
		"when a stream ends before it is closed": {
			play: func(ctx context.Context, script *script, stream *record.Stream) {
				script.ends(errors.New("broken"))
				stream.Until(ctx, "it has ended", func(view *record.View) bool { return view.Ended })
			},
			want: "a watch ended before it was closed",
		},
		"when a stream ends too early": {
			play: func(ctx context.Context, script *script, stream *record.Stream) {
				script.ends(errors.New("broken"))
				stream.Synced(ctx)
			},
			want: "ended before the snapshot is complete",
		},
		"when the context ends first": {
			play: func(_ context.Context, script *script, stream *record.Stream) {
				expired, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, errors.New("no time left"))
				defer cancel()
				stream.Synced(expired)
			},
			want: "no time left",
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := newScript(t)
			failed := &failing{TB: t}
			failed.run(func() {
				test.play(t.Context(), script, record.Watch(failed, script.client(), &kubeconnectv1.WatchRequest{}))
			})
			if !strings.Contains(failed.output, test.want) {
				t.Errorf("the failure is %q, want %q in it", failed.output, test.want)
			}
		})
	}
}

// script is a service that sends what the test passes to it.
type script struct {
	kubeconnectv1connect.ResourceServiceHandler // the other calls, which no client makes

	// Set once.
	t      *testing.T
	server *httptest.Server
	saying chan []*kubeconnectv1.Event
	ending chan error
}

func newScript(t *testing.T) *script {
	s := &script{t: t, saying: make(chan []*kubeconnectv1.Event), ending: make(chan error, 1)}
	mux := http.NewServeMux()
	service := connect.NewServer()
	kubeconnectv1connect.RegisterResourceServiceHandler(service, s)
	connecthttp.Mount(mux, service)
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	return s
}

func (s *script) client() kubeconnectv1connect.ResourceServiceClient {
	return kubeconnectv1connect.NewResourceServiceClient(connect.NewClient(connecthttp.NewTransport(s.server.Client(), s.server.URL)))
}

func (s *script) says(events ...*kubeconnectv1.Event) { s.saying <- events }

func (s *script) ends(err error) { s.ending <- err }

func (s *script) Watch(ctx context.Context, _ *kubeconnectv1.WatchRequest, stream kubeconnectv1connect.ResourceServiceWatchServerStream) error {
	for {
		select {
		case events := <-s.saying:
			if err := stream.Send(s.response(events)); err != nil {
				return err
			}
		case err := <-s.ending:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// response returns a message with the events and all other fields that it needs: the kind with a RESET
// only.
func (s *script) response(events []*kubeconnectv1.Event) *kubeconnectv1.WatchResponse {
	response := &kubeconnectv1.WatchResponse{
		Events: events, ResumeToken: "token", Freshness: &kubeconnectv1.Freshness{LastContactTime: timestamppb.Now()},
	}
	if events[0].GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET {
		response.Resource = &kubeconnectv1.Resource{Kind: "ConfigMap"}
	}
	return response
}

// failing is a test that records its failures instead of failing.
type failing struct {
	testing.TB

	output   string
	cleanups []func()
}

// run runs a test to its end, including its cleanups.
func (f *failing) run(test func()) {
	var played sync.WaitGroup
	played.Go(test)
	played.Wait()
	for _, cleanup := range slices.Backward(f.cleanups) {
		cleanup()
	}
}

func (f *failing) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

func (f *failing) Error(args ...any) { f.output += fmt.Sprintln(args...) }

func (f *failing) Errorf(format string, args ...any) { f.output += fmt.Sprintf(format, args...) + "\n" }

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func reset() *kubeconnectv1.Event {
	return &kubeconnectv1.Event{Type: kubeconnectv1.EventType_EVENT_TYPE_RESET}
}

func synced(version string) *kubeconnectv1.Event {
	return &kubeconnectv1.Event{Type: kubeconnectv1.EventType_EVENT_TYPE_SYNCED, ResourceVersion: version}
}

func added(name, version string) *kubeconnectv1.Event {
	return &kubeconnectv1.Event{
		Type:            kubeconnectv1.EventType_EVENT_TYPE_ADDED,
		ResourceVersion: version,
		Object: &kubeconnectv1.Object{
			Namespace: "ns", Name: name, Uid: name, ResourceVersion: version,
			Content: &kubeconnectv1.Object_Json{Json: []byte("{}")},
		},
	}
}
