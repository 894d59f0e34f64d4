package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func settled(t *testing.T, part *streamPart, is bool) {
	t.Helper()
	if err := part.settle(is); err != nil {
		t.Fatalf("settle(%t): %v", is, err)
	}
}

func TestStreams_EndNearTheirMaximumAge(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		drained := false
		streams := NewStreams(45 * time.Minute)
		ctx, stream, end := streams.begin(WithDrain(t.Context(), func() { drained = true }), 1)
		defer end()
		settled(t, &streamPart{stream: stream}, true)
		began := time.Now()
		<-ctx.Done()
		if age := time.Since(began); age < 30*time.Minute || age > time.Hour {
			t.Errorf("ends at an age of %s", age)
		}
		if why := context.Cause(ctx); !errors.Is(why, errAged) || !drained {
			t.Errorf("ends because of %v, its connection drained: %t", why, drained)
		}
	})
}

func TestStreams_WithoutMaximumAgeStayOpen(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		ctx, stream, end := NewStreams(0).begin(t.Context(), 1)
		defer end()
		settled(t, &streamPart{stream: stream}, true)
		time.Sleep(1000 * time.Hour)
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
	})
}

func TestStreams_EndOnlyWhereTheyCanBeResumed(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		ctx, stream, end := NewStreams(time.Minute).begin(t.Context(), 2)
		defer end()
		first, second := &streamPart{stream: stream}, &streamPart{stream: stream}
		settled(t, first, true)
		time.Sleep(time.Hour)
		synctest.Wait()
		settled(t, first, false)
		settled(t, second, true)
		if ctx.Err() != nil {
			t.Fatalf("ends within a message: %v", context.Cause(ctx))
		}
		settled(t, first, true)
		if why := context.Cause(ctx); !errors.Is(why, errAged) {
			t.Errorf("ends because of %v", why)
		}
		if err := second.settle(false); !errors.Is(err, errAged) {
			t.Errorf("a watch of a stream that has ended continues: %v", err)
		}
	})
}

// A watch that has ended by its age resumes after the events that it has sent: no event is sent
// twice.
func TestWatch_ResumesAfterMaximumAge(t *testing.T) {
	s := newServiceOf(t, podsAPI(), Config{Authenticator: auth.KubeconfigUser{}, Streams: NewStreams(time.Nanosecond)})
	var token string
	for _, want := range []string{"RESET ADDED:a ADDED:b SYNCED", "BOOKMARK", "BOOKMARK"} {
		stream, err := s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", ResumeToken: token})
		if err != nil {
			t.Fatal(err)
		}
		received := ""
		for stream.Receive() {
			received, token = received+eventsOf(stream.Msg()), stream.Msg().GetResumeToken()
		}
		if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable || detailOf(t, err).GetReason() != string(reasonMoved) {
			t.Errorf("ends with %v", err)
		}
		if received != want || token == "" {
			t.Errorf("sent %q and token %q, want %q", received, token, want)
		}
	}
}

func TestWatchMany_ResumesAfterMaximumAge(t *testing.T) {
	s := newServiceOf(t, podsAPI(), Config{Authenticator: auth.KubeconfigUser{}, Streams: NewStreams(time.Nanosecond)})
	request := podsTwice()
	for _, want := range [][]string{{"RESET ADDED:a ADDED:b SYNCED", "RESET ADDED:b SYNCED"}, {"BOOKMARK", "BOOKMARK"}} {
		f := followMany(t, s, request)
		f.want(0, want[0])
		f.want(1, want[1])
		for f.stream.Receive() {
			f.take(f.stream.Msg())
		}
		if err := f.stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable || detailOf(t, err).GetReason() != string(reasonMoved) {
			t.Errorf("ends with %v", err)
		}
		if len(f.received[0])+len(f.received[1]) > 0 {
			t.Errorf("sent more events: %v", f.received)
		}
		request.ResumeToken = f.token
	}
}
