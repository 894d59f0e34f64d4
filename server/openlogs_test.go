package server

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

func TestOpenLogs_AreBounded(t *testing.T) {
	t.Parallel()
	queue := fairqueue.New(fairqueue.Limits{Total: 3, PerKey: 2})
	logsOf := func(caller string) openLogs { return openLogs{queue: queue, caller: caller, weight: 1} }
	var release func()
	for i, step := range []struct {
		caller string
		opens  bool
	}{{"jane", true}, {"jane", true}, {"jane", false}, {"joe", true}, {"joe", false}} {
		released, err := logsOf(step.caller).acquire()
		if (err == nil) != step.opens {
			t.Errorf("log %d: %v", i, err)
		}
		if i == 0 {
			release = released
		}
	}
	release()
	if _, err := logsOf("jane").acquire(); err != nil {
		t.Errorf("once another one is closed: %v", err)
	}
}

// TestOpenLogs_AreCharged opens logs with lines before a match, until their memory is used up.
func TestOpenLogs_AreCharged(t *testing.T) {
	t.Parallel()
	kept, queue := ledger.New(ledger.Limits{Total: 10 * (openLogBytes + contextBytes)}), newOpenLogs()
	logs := openLogs{queue: queue, caller: "jane", account: kept.Account("jane", "a"), weight: contextLogs, bytes: openLogBytes + contextBytes}
	var release func()
	for i := range 3 {
		released, err := logs.acquire()
		if opens := i < 2; (err == nil) != opens || !opens && !errors.Is(err, ledger.ErrFull) {
			t.Fatalf("log %d: %v", i, err)
		}
		if err == nil {
			release = released
		}
	}
	if queue.Held() != 2*contextLogs {
		t.Errorf("%d logs are counted, want 2 with lines before a match", queue.Held())
	}
	release()
	if kept.Kept()["jane"] != logs.bytes || queue.Held() != contextLogs {
		t.Errorf("after one has ended, %v is kept, and %d are counted", kept.Kept(), queue.Held())
	}
}

// podOfContainers gives each pod a number of containers.
func podOfContainers(api *fakeAPI, containers int) {
	for _, object := range api.objects {
		pod := object.(*corev1.Pod)
		running := pod.Status.ContainerStatuses[0]
		pod.Spec.Containers, pod.Status.ContainerStatuses = nil, nil
		for i := range containers {
			running.Name = fmt.Sprint("c", i)
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: running.Name})
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, running)
		}
	}
}

// TestLogLines_BoundTheOpenLogsOfACaller follows silent logs in several streams. Each log counts as
// several, because the lines before a match are kept.
func TestLogLines_BoundTheOpenLogsOfACaller(t *testing.T) {
	const containers = 100
	api := loggingPodsAPI(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("follow") != "" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	podOfContainers(api, containers)
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.GetLogLinesRequest{
		Namespace: "default", Name: "a", Follow: true, MaxLogs: containers,
		LineFilter: &kubeconnectv1.LogLineFilter{Contains: "x", BeforeLines: 1},
	}
	began, waiting := 0, 0
	for range 2 {
		stream, err := s.pods.GetLogLines(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Close() }()
		for events := 0; events < containers && stream.Receive(); {
			for _, event := range stream.Msg().GetEvents() {
				events++
				switch {
				case event.GetType() == kubeconnectv1.LogEventType_LOG_EVENT_TYPE_BEGAN:
					began++
				case event.GetReason() == "TooManyOpenLogs":
					waiting++
				}
			}
		}
	}
	if want := maxCallerOpenLogs / contextLogs; began != want || waiting != 2*containers-want {
		t.Errorf("%d logs are open and %d wait, want %d open", began, waiting, want)
	}
	err := endOfLines(t, s, request, func(*kubeconnectv1.GetLogLinesResponse) {})
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("another stream ends with %v", err)
	}
}
