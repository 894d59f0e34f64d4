package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
)

// apiServer responds to requests by their paths. Requests without a response fail as if it were
// unreachable, except those for pods, which block.
type apiServer struct{ answers sync.Map }

func (api *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	found, ok := api.answers.Load(r.URL.Path)
	for !ok && r.URL.Path == "/api/v1/pods" && r.Context().Err() == nil {
		time.Sleep(time.Second)
		found, ok = api.answers.Load(r.URL.Path)
	}
	if !ok {
		return nil, errors.New("away")
	}
	text := found.(string)
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	if text == "" {
		answer.WriteHeader(http.StatusNotFound)
	}
	_, _ = io.WriteString(answer, text)
	result := answer.Result()
	if r.URL.Query().Get("watch") == "true" { // the watch stays open
		result.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(text), forever{r}), result.Body}
	}
	return result, nil
}

// forever is a body that does not end before the request does.
type forever struct{ request *http.Request }

func (f forever) Read([]byte) (int, error) {
	<-f.request.Context().Done()
	return 0, f.request.Context().Err()
}

// readinessOf follows the readiness of a service that preloads resources.
func readinessOf(t *testing.T, api *apiServer, preload ...string) (isReady func() bool) {
	t.Helper()
	hub, err := informerhub.New(&rest.Config{Host: "http://api.example", Transport: api}, informerhub.Options{Preload: preload})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	readiness := &health.Readiness{}
	go hub.Preload(t.Context())
	go followReadiness(t.Context(), hub, &ownPermissions{}, readiness)
	return func() bool {
		time.Sleep(2 * reachedInterval)
		synctest.Wait()
		return readiness.IsReady()
	}
}

func TestReadiness_WithoutPreloadFollowsTheAPIServer(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := &apiServer{}
		isReady := readinessOf(t, api)
		if isReady() {
			t.Error("it is ready before the API server has responded")
		}
		api.answers.Store("/version", "{}")
		if !isReady() {
			t.Error("it is not ready when the API server has responded")
		}
		api.answers.Delete("/version")
		if isReady() {
			t.Error("it is ready without any snapshot when the API server is unreachable")
		}
	})
}

const snapshotOfPods = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"

// apiWithPods serves discovery, but no pods yet.
func apiWithPods() *apiServer {
	api := &apiServer{}
	for path, text := range map[string]string{
		"/version": "{}", "/readyz": "ok", "/apis/apiregistration.k8s.io/v1/apiservices": "",
		"/api": `{"versions":["v1"]}`, "/apis": `{"kind":"APIGroupList","groups":[]}`,
		"/api/v1": `{"groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch"]}]}`,
	} {
		api.answers.Store(path, text)
	}
	return api
}

func TestReadiness_WithPreloadWaitsForSnapshots(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := apiWithPods()
		isReady := readinessOf(t, api, "pods")
		if isReady() {
			t.Error("it is ready without the preloaded snapshot")
		}
		api.answers.Store("/api/v1/pods", snapshotOfPods)
		if !isReady() {
			t.Error("it is not ready with the preloaded snapshot")
		}
		api.answers.Clear()
		if !isReady() {
			t.Error("it is not ready when the API server is unreachable, although it can serve reads")
		}
	})
}

func TestReadiness_DoesNotWaitForWhatTheClusterDoesNotServe(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := apiWithPods()
		isReady := readinessOf(t, api, "pods", "widgets.example.com")
		if isReady() {
			t.Error("it is ready without the snapshot of pods")
		}
		api.answers.Store("/api/v1/pods", snapshotOfPods)
		if !isReady() {
			t.Error("it waits for widgets")
		}
	})
}
