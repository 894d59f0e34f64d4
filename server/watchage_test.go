package server

import (
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// A watch that has ended by its age resumes after the events that it has sent: no event is sent
// twice.
func TestWatch_ResumesAfterMaximumAge(t *testing.T) {
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Streams: streamlife.NewStreams(time.Nanosecond)})
	var token string
	for _, want := range []string{"RESET ADDED:a ADDED:b SYNCED", "BOOKMARK", "BOOKMARK"} {
		stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", ResumeToken: token}))
		if err != nil {
			t.Fatal(err)
		}
		received := ""
		for stream.Receive() {
			received, token = received+eventsOf(stream.Msg()), stream.Msg().GetResumeToken()
		}
		if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable || statustest.Of(t, err).GetReason() != string(callerrors.ReasonStreamMoved) {
			t.Errorf("ends with %v", err)
		}
		if received != want || token == "" {
			t.Errorf("sent %q and token %q, want %q", received, token, want)
		}
	}
}

func TestWatchMany_ResumesAfterMaximumAge(t *testing.T) {
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Streams: streamlife.NewStreams(time.Nanosecond)})
	request := podsTwice()
	for _, want := range [][]string{{"RESET ADDED:a ADDED:b SYNCED", "RESET ADDED:b SYNCED"}, {"BOOKMARK", "BOOKMARK"}} {
		f := followMany(t, s, request)
		f.want(0, want[0])
		f.want(1, want[1])
		for f.stream.Receive() {
			f.take(f.stream.Msg())
		}
		if err := f.stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable || statustest.Of(t, err).GetReason() != string(callerrors.ReasonStreamMoved) {
			t.Errorf("ends with %v", err)
		}
		if len(f.received[0])+len(f.received[1]) > 0 {
			t.Errorf("sent more events: %v", f.received)
		}
		request.ResumeToken = f.token
	}
}
