package server

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// loggingPodsAPI returns an API server with two pods whose containers run.
func loggingPodsAPI(log http.Handler) *servertest.FakeAPI {
	api := servertest.PodsAPI()
	api.Log = log
	for _, pod := range api.Objects {
		pod := pod.(*corev1.Pod)
		pod.Spec.Containers = []corev1.Container{{Name: "main"}}
		running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: running}}
	}
	return api
}

// endOfLines returns the events and the error with which a stream of lines ends.
func endOfLines(t *testing.T, s *service, request *kubeconnectv1.GetLogLinesRequest, received func(*kubeconnectv1.GetLogLinesResponse)) error {
	t.Helper()
	stream, err := responses.Of(s.pods.GetLogLines(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		received(stream.Msg())
	}
	return stream.Err()
}

func TestLogLines_NeedPermissionsForPodsAndTheirLogs(t *testing.T) {
	for name, test := range map[string]struct {
		request *kubeconnectv1.GetLogLinesRequest
		want    []string
	}{
		"pods":          {&kubeconnectv1.GetLogLinesRequest{Namespace: "default"}, []string{"list pods", "get pods/log"}},
		"followed pods": {&kubeconnectv1.GetLogLinesRequest{Namespace: "default", Follow: true, LimitLines: count(1)}, []string{"list pods", "watch pods", "get pods/log"}},
		"one pod":       {&kubeconnectv1.GetLogLinesRequest{Namespace: "default", Name: "a"}, []string{"get pods a", "get pods/log a"}},
	} {
		t.Run(name, func(t *testing.T) {
			rights := servertest.NewFakeRights(servertest.Some("default"))
			s := withRights(t, loggingPodsAPI(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "2026-05-04T12:00:00Z one\n")
			})), rights)
			lines := 0
			if err := endOfLines(t, s, test.request, func(r *kubeconnectv1.GetLogLinesResponse) { lines += len(r.GetLines()) }); err != nil || lines == 0 {
				t.Errorf("%d lines: %v", lines, err)
			}
			for _, want := range test.want {
				if !slices.ContainsFunc(rights.Asked, func(a auth.Attributes) bool { return described(a) == want }) {
					t.Errorf("no review of %q, only %+v", want, rights.Asked)
				}
			}
		})
	}
}

func count(n int64) *int64 { return &n }

// described returns what a review asks.
func described(a auth.Attributes) string {
	text := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	return strings.TrimSpace(text + " " + a.Name)
}

// TestLogLines_EndWithThePermission changes the permissions while silent logs are followed.
func TestLogLines_EndWithThePermission(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*servertest.FakeRights)
		code   connect.Code
	}{
		"no permission": {func(rights *servertest.FakeRights) { rights.May = servertest.Some() }, connect.CodePermissionDenied},
		"no credential": {func(rights *servertest.FakeRights) { rights.Refused = auth.ErrUnauthenticated }, connect.CodeUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			rights := servertest.NewFakeRights(servertest.Some("default"))
			s := withRights(t, loggingPodsAPI(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})), rights)
			changed := false
			err := endOfLines(t, s, &kubeconnectv1.GetLogLinesRequest{Namespace: "default", Name: "a", Follow: true, TailLines: nil}, func(*kubeconnectv1.GetLogLinesResponse) {
				if !changed {
					changed = true
					rights.Change(func() { test.change(rights) })
				}
			})
			if connect.CodeOf(err) != test.code {
				t.Errorf("the stream ends with %v", err)
			}
		})
	}
}

func TestLogLines_ReportLogsThatCannotBeRead(t *testing.T) {
	s := newService(t, loggingPodsAPI(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "\xff"+strings.Repeat("é", 5000), http.StatusServiceUnavailable)
	})), auth.KubeconfigAuthenticator{})
	failed := 0
	err := endOfLines(t, s, &kubeconnectv1.GetLogLinesRequest{Namespace: "default"}, func(r *kubeconnectv1.GetLogLinesResponse) {
		for _, event := range r.GetEvents() {
			failed++
			if event.GetType() != kubeconnectv1.LogEventType_LOG_EVENT_TYPE_FAILED || len(event.GetMessage()) > 1<<10 || !utf8.ValidString(event.GetMessage()) {
				t.Errorf("the event is %v", event)
			}
		}
	})
	if err != nil || failed != 2 {
		t.Errorf("%d events: %v", failed, err)
	}
}

// TestLogLines_HideAddressesOfLogsThatAreCutOff has an API server whose connections break.
func TestLogLines_HideAddressesOfLogsThatAreCutOff(t *testing.T) {
	s := newService(t, loggingPodsAPI(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "2026-05-04T12:00:00Z one\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})), auth.KubeconfigAuthenticator{})
	var messages []string
	err := endOfLines(t, s, &kubeconnectv1.GetLogLinesRequest{Namespace: "default", Name: "a"}, func(r *kubeconnectv1.GetLogLinesResponse) {
		for _, event := range r.GetEvents() {
			if event.GetType() == kubeconnectv1.LogEventType_LOG_EVENT_TYPE_FAILED {
				messages = append(messages, event.GetMessage())
			}
		}
	})
	if err != nil || len(messages) != 1 || !strings.HasPrefix(messages[0], "the log was cut off on its way from the API server") {
		t.Errorf("the messages are %q: %v", messages, err)
	}
}

func TestRevocation_EndsLinesThatAreNotRead(t *testing.T) {
	rights, metrics := servertest.NewFakeRights(auth.Namespaces{All: true}), observe.NewMetrics()
	api := loggingPodsAPI(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("2026-05-04T12:00:00Z a line\n", 1000)); err != nil {
				return
			}
		}
	}))
	s := newServiceOf(t, api, Config{Edge: edge.Config{Authenticator: rights, Metrics: metrics}, Authorizer: rights, Recheck: time.Hour})
	body := openSmall(t, s, "PodService/GetLogLines", `{"namespace":"default"}`)
	if _, err := io.ReadFull(body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	rights.Change(func() { rights.May = servertest.Some() })
	wantEnded(t, metrics, "permission_denied")
}

// TestLogLines_CoverTheNamespacesOfTheCaller has a caller who can read only one namespace.
func TestLogLines_CoverTheNamespacesOfTheCaller(t *testing.T) {
	for _, follow := range []bool{false, true} {
		api := loggingPodsAPI(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "2026-05-04T12:00:00Z one\n")
		}))
		s := withRights(t, api, servertest.NewFakeRights(servertest.Some("default")))
		var first *kubeconnectv1.GetLogLinesResponse
		err := endOfLines(t, s, &kubeconnectv1.GetLogLinesRequest{Follow: follow, LimitLines: count(1)}, func(r *kubeconnectv1.GetLogLinesResponse) {
			if first == nil {
				first = proto.CloneOf(r)
			}
		})
		if err != nil || first.GetCoversAll() || !slices.Equal(first.GetNamespaces(), []string{"default"}) {
			t.Errorf("follow %v: the first response is %v: %v", follow, first, err)
		}
	}
}
