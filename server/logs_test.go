package server

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// container is the source of a log at the fake API server. One log of it is read at a time.
type container struct {
	asked  chan url.Values // receives the query of each read
	writes chan string     // empty: the log is cut off; closed: it ends
	left   chan struct{}   // receives a value when a read ends
}

func newContainer() *container {
	return &container{asked: make(chan url.Values, 1), writes: make(chan string), left: make(chan struct{}, 1)}
}

func (c *container) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_ = http.NewResponseController(w).Flush()
	c.asked <- r.URL.Query()
	for {
		select {
		case text, ok := <-c.writes:
			if !ok {
				return
			}
			if text == "" {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			c.left <- struct{}{}
			return
		}
	}
}

// logStream is a log as a caller reads it.
type logStream struct {
	t      *testing.T
	stream *responses.Stream[kubeconnectv1.GetLogsResponse]
}

func openLog(t *testing.T, s *service, request *kubeconnectv1.GetLogsRequest) logStream {
	t.Helper()
	stream, err := responses.Of(s.pods.GetLogs(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return logStream{t, stream}
}

// next returns the next piece that is not empty.
func (l logStream) next() (piece string, ok bool) {
	for l.stream.Receive() {
		if piece := string(l.stream.Msg().GetData()); piece != "" {
			return piece, true
		}
	}
	return "", false
}

// want fails unless the next piece is the given one.
func (l logStream) want(piece string) {
	l.t.Helper()
	got, ok := l.next()
	if !ok {
		l.t.Fatalf("ended with %v, not %q", l.stream.Err(), piece)
	}
	if got != piece {
		l.t.Errorf("the piece is %q, not %q", got, piece)
	}
}

// rest returns the pieces up to the end.
func (l logStream) rest() (pieces []string) {
	for piece, ok := l.next(); ok; piece, ok = l.next() {
		pieces = append(pieces, piece)
	}
	return pieces
}

// end returns the error that the stream ends with.
func (l logStream) end() error {
	l.rest()
	return l.stream.Err()
}

func logOfX() *kubeconnectv1.GetLogsRequest {
	return &kubeconnectv1.GetLogsRequest{Namespace: "y", Name: "x", Follow: true}
}

// logging returns a service whose caller follows a container's log.
func logging(t *testing.T, rights *servertest.FakeRights) (*service, *container, logStream) {
	t.Helper()
	source := newContainer()
	s := withRights(t, &servertest.FakeAPI{Log: source}, rights)
	log := openLog(t, s, logOfX())
	<-source.asked
	return s, source, log
}

func TestLogs_AreSentInCompleteLines(t *testing.T) {
	_, source, log := logging(t, servertest.NewFakeRights(servertest.Some("y")))
	source.writes <- "one\ntwo\nth"
	log.want("one\ntwo\n")
	source.writes <- "ree\n"
	log.want("three\n")
	source.writes <- "the end"
	close(source.writes)
	log.want("the end")
	if err := log.end(); err != nil {
		t.Errorf("ends with %v", err)
	}
}

func TestLogs_PartialLinesAreSentWhenTheLogPauses(t *testing.T) {
	t.Parallel()
	_, source, log := logging(t, servertest.NewFakeRights(servertest.Some("y")))
	source.writes <- "one\npassw"
	log.want("one\n")
	log.want("passw")
	source.writes <- "ord:"
	log.want("ord:")
	source.writes <- "\n"
	log.want("\n")
}

// TestLogs_SilentLogsSendEmptyMessages waits for an empty piece.
func TestLogs_SilentLogsSendEmptyMessages(t *testing.T) {
	t.Parallel()
	_, source, log := logging(t, servertest.NewFakeRights(servertest.Some("y")))
	source.writes <- "one\n"
	log.want("one\n")
	if !log.stream.Receive() || len(log.stream.Msg().GetData()) > 0 {
		t.Errorf("received %q, %v", log.stream.Msg().GetData(), log.stream.Err())
	}
	source.writes <- "two\n"
	log.want("two\n")
}

func TestLogs_LongLinesAreSplit(t *testing.T) {
	_, source, log := logging(t, servertest.NewFakeRights(servertest.Some("y")))
	line := strings.Repeat("0123456789", 30_000) + "\n"
	go func() {
		source.writes <- line + "next\n"
		close(source.writes)
	}()
	pieces := log.rest()
	for _, piece := range pieces {
		if len(piece) > 64<<10 {
			t.Errorf("a piece has %d bytes", len(piece))
		}
	}
	if strings.Join(pieces, "") != line+"next\n" {
		t.Errorf("%d pieces are not the log", len(pieces))
	}
	if err := log.stream.Err(); err != nil {
		t.Error(err)
	}
}

func TestLogs_CloseTheirSourceWhenTheClientDisconnects(t *testing.T) {
	_, source, log := logging(t, servertest.NewFakeRights(servertest.Some("y")))
	_ = log.stream.Close()
	<-source.left
}

func TestLogs_EndWithTheService(t *testing.T) {
	s, source, log := logging(t, servertest.NewFakeRights(servertest.Some("y")))
	s.stop()
	if err := log.end(); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("ends with %v", err)
	}
	<-source.left
}

func TestLogs_TruncatedLogsEndWithAnError(t *testing.T) {
	_, source, log := logging(t, servertest.NewFakeRights(servertest.Some("y")))
	source.writes <- "one\ntw"
	log.want("one\n")
	source.writes <- ""
	log.want("tw")
	if err := log.end(); connect.CodeOf(err) != connect.CodeUnavailable || statustest.Of(t, err).GetReason() != "ServiceUnavailable" {
		t.Errorf("ends with %v", err)
	}
}

func TestLogs_EndWithThePermission(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("y"))
	_, source, log := logging(t, rights)
	source.writes <- "one\n"
	log.want("one\n")
	rights.Change(func() { rights.May = servertest.Some() })
	err := log.end()
	want := `pods "x" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "y"`
	if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("ends with %v", err)
	}
	<-source.left
}

func TestLogs_EndWithTheCredential(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("y"))
	_, source, log := logging(t, rights)
	rights.Change(func() { rights.Refused = auth.ErrUnauthenticated })
	if err := log.end(); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("ends with %v", err)
	}
	<-source.left
}

// TestLogs_WaitWhilePermissionsCannotBeReviewed makes the cluster available again at the end: only
// then is the log sent that was written before.
func TestLogs_WaitWhilePermissionsCannotBeReviewed(t *testing.T) {
	t.Parallel()
	rights := servertest.NewFakeRights(servertest.Some("y"))
	_, source, log := logging(t, rights)
	rights.Change(func() { rights.Away = true })
	source.writes <- "one\n"
	sent := make(chan string, 1)
	go func() {
		piece, _ := log.next()
		sent <- piece
	}()
	for asked := 0; asked < 3; time.Sleep(100 * time.Millisecond) {
		rights.Mu.Lock()
		asked = len(rights.Asked)
		rights.Mu.Unlock()
	}
	select {
	case piece := <-sent:
		t.Errorf("%q is sent to a caller whose permission is not known", piece)
	default:
	}
	rights.Mu.Lock()
	rights.Away = false
	rights.Mu.Unlock()
	if piece := <-sent; piece != "one\n" {
		t.Errorf("the piece is %q", piece)
	}
}

// TestLogs_PermissionIsReviewedOnlyAfterOpening compares the review with the API server's own.
// When the log is opened, only the API server checks the permission.
func TestLogs_PermissionIsReviewedOnlyAfterOpening(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("y"))
	_, _, log := logging(t, rights)
	if len(rights.Asked) != 0 {
		t.Errorf("the reviews are %v", rights.Asked)
	}
	rights.Change(func() { rights.May = servertest.Some() })
	_ = log.end()
	want := auth.Attributes{Verb: "get", Version: "v1", Resource: "pods", Subresource: "log", Namespace: "y", Name: "x"}
	if len(rights.Asked) != 1 || rights.Asked[0] != want {
		t.Errorf("the reviews are %+v", rights.Asked)
	}
}

// TestLogs_RejectionsAreReturnedWithoutRetry has an API server that is busy. client-go would wait
// and retry by default.
func TestLogs_RejectionsAreReturnedWithoutRetry(t *testing.T) {
	requests := 0
	s := newService(t, &servertest.FakeAPI{Log: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("Retry-After", "7")
		servertest.AnswerWith(http.StatusTooManyRequests, metav1.Status{Status: "Failure", Reason: metav1.StatusReasonTooManyRequests, Code: 429, Message: "busy"})(w, r)
	})}, auth.KubeconfigAuthenticator{})
	err := openLog(t, s, logOfX()).end()
	if connect.CodeOf(err) != connect.CodeResourceExhausted || statustest.Of(t, err).GetRetryAfterSeconds() != 7 || requests != 1 {
		t.Errorf("after %d requests: %v", requests, err)
	}
}

func TestLogs_OptionsReachTheAPIServer(t *testing.T) {
	source := newContainer()
	close(source.writes)
	s := newService(t, &servertest.FakeAPI{Log: source}, auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		change func(*kubeconnectv1.GetLogsRequest)
		want   string
	}{
		"nothing":       {func(*kubeconnectv1.GetLogsRequest) {}, ""},
		"a container":   {func(r *kubeconnectv1.GetLogsRequest) { r.Container = "main" }, "container=main"},
		"follow":        {func(r *kubeconnectv1.GetLogsRequest) { r.Follow = true }, "follow=true"},
		"previous":      {func(r *kubeconnectv1.GetLogsRequest) { r.Previous = true }, "previous=true"},
		"since_seconds": {func(r *kubeconnectv1.GetLogsRequest) { r.SinceSeconds = new(int64) }, "sinceSeconds=0"},
		"since_time": {func(r *kubeconnectv1.GetLogsRequest) {
			r.SinceTime = timestamppb.New(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
		}, "sinceTime=2030-01-02T03:04:05Z"},
		"tail_lines":  {func(r *kubeconnectv1.GetLogsRequest) { r.TailLines = new(int64) }, "tailLines=0"},
		"limit_bytes": {func(r *kubeconnectv1.GetLogsRequest) { r.LimitBytes = new(int64) }, "limitBytes=0"},
		"timestamps":  {func(r *kubeconnectv1.GetLogsRequest) { r.Timestamps = true }, "timestamps=true"},
		"stdout":      {func(r *kubeconnectv1.GetLogsRequest) { r.Stream = kubeconnectv1.LogStream_LOG_STREAM_STDOUT }, "stream=Stdout"},
		"stderr":      {func(r *kubeconnectv1.GetLogsRequest) { r.Stream = kubeconnectv1.LogStream_LOG_STREAM_STDERR }, "stream=Stderr"},
	} {
		t.Run(name, func(t *testing.T) {
			request := &kubeconnectv1.GetLogsRequest{Namespace: "y", Name: "x"}
			test.change(request)
			if err := openLog(t, s, request).end(); err != nil {
				t.Fatal(err)
			}
			if got, _ := url.QueryUnescape((<-source.asked).Encode()); got != test.want {
				t.Errorf("the API server is asked %q, not %q", got, test.want)
			}
		})
	}
}

func TestLogs_InvalidRequestsAreRejected(t *testing.T) {
	s := newService(t, &servertest.FakeAPI{Log: http.NotFoundHandler()}, auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		request *kubeconnectv1.GetLogsRequest
		says    string
	}{
		"no namespace":                {&kubeconnectv1.GetLogsRequest{Name: "x"}, "namespace is required"},
		"no name":                     {&kubeconnectv1.GetLogsRequest{Namespace: "y"}, "name is required"},
		"a name that leads elsewhere": {&kubeconnectv1.GetLogsRequest{Namespace: "y", Name: "../../secrets"}, "name"},
		"a namespace that does":       {&kubeconnectv1.GetLogsRequest{Namespace: "..", Name: "x"}, "namespace"},
		"a stream that is none":       {&kubeconnectv1.GetLogsRequest{Namespace: "y", Name: "x", Stream: 7}, "STDOUT"},
		"a time within a second":      {&kubeconnectv1.GetLogsRequest{Namespace: "y", Name: "x", SinceTime: &timestamppb.Timestamp{Nanos: 5}}, "whole seconds"},
		"a time that cannot be":       {&kubeconnectv1.GetLogsRequest{Namespace: "y", Name: "x", SinceTime: &timestamppb.Timestamp{Seconds: -1 << 60}}, "since_time"},
	} {
		t.Run(name, func(t *testing.T) {
			err := openLog(t, s, test.request).end()
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), test.says) {
				t.Errorf("returned %v", err)
			}
		})
	}
}

// TestLogs_AreNotSilentWithoutReviews has a cluster that cannot review permissions, while the logs are silent, and while
// lines wait to be sent. Nothing but empty messages is sent until it can.
func TestLogs_AreNotSilentWithoutReviews(t *testing.T) {
	receivers := map[string]func(*testing.T, *service) (next func() (content string, ok bool)){
		"GetLogs": func(t *testing.T, s *service) func() (string, bool) {
			log := openLog(t, s, &kubeconnectv1.GetLogsRequest{Namespace: "default", Name: "a", Follow: true})
			return func() (string, bool) { ok := log.stream.Receive(); return string(log.stream.Msg().GetData()), ok }
		},
		"GetLogLines": func(t *testing.T, s *service) func() (string, bool) {
			stream, err := responses.Of(s.pods.GetLogLines(t.Context(), &kubeconnectv1.GetLogLinesRequest{Namespace: "default", Name: "a", Follow: true}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stream.Close() })
			return func() (text string, ok bool) {
				ok = stream.Receive()
				for _, line := range stream.Msg().GetLines() {
					text += string(line.GetText()) + "\n"
				}
				return text, ok
			}
		},
	}
	for rpc, receive := range receivers {
		for state, waits := range map[string]bool{"silent logs": false, "lines that wait": true} {
			t.Run(rpc+" of "+state, func(t *testing.T) {
				t.Parallel()
				rights, source := servertest.NewFakeRights(servertest.Some("default")), newContainer()
				next := receive(t, withRights(t, loggingPodsAPI(source), rights))
				<-source.asked
				await := func(want string) {
					for {
						switch content, ok := next(); {
						case !ok:
							t.Fatal("the stream has ended")
						case strings.HasSuffix(content, want):
							return
						case content != "":
							t.Fatalf("%q is sent, not %q", content, want)
						}
					}
				}
				source.writes <- "2026-01-01T00:00:00Z before\n"
				await("before\n")
				rights.Change(func() { rights.Away = true })
				if waits {
					source.writes <- "2026-01-01T00:00:01Z meanwhile\n"
				}
				for range 2 {
					if content, ok := next(); !ok || content != "" {
						t.Fatalf("%q is sent without a review", content)
					}
				}
				rights.Change(func() { rights.Away = false })
				if !waits {
					source.writes <- "2026-01-01T00:00:01Z meanwhile\n"
				}
				await("meanwhile\n")
			})
		}
	}
}
