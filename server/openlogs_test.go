package server

import (
	"fmt"
	"net/http"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// podOfContainers gives each pod a number of containers.
func podOfContainers(api *servertest.FakeAPI, containers int) {
	for _, object := range api.Objects {
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
		stream, err := responses.Of(s.pods.GetLogLines(t.Context(), request))
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
	const want = 128 // of one caller: 512 logs, and a log with lines before a match counts as four
	if began != want || waiting != 2*containers-want {
		t.Errorf("%d logs are open and %d wait, want %d open", began, waiting, want)
	}
	err := endOfLines(t, s, request, func(*kubeconnectv1.GetLogLinesResponse) {})
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("another stream ends with %v", err)
	}
}
