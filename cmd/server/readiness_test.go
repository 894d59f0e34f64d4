package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
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

func TestContact_IsLoggedWhenItIsLostAndWhenItReturns(t *testing.T) {
	logged := servertest.CaptureLog(t)
	faketime.Test(t, func(t *testing.T) {
		var stale atomic.Bool
		go followContact(t.Context(), func() informerhub.Freshness { return informerhub.Freshness{Stale: stale.Load()} })
		for _, step := range []struct {
			name           string
			stale          bool
			lost, returned int // lines that were logged since the start
		}{
			{name: "the data is current at the start"},
			{name: "the data becomes stale", stale: true, lost: 1},
			{name: "the data stays stale", stale: true, lost: 1},
			{name: "the data is current again", lost: 1, returned: 1},
			{name: "the data becomes stale once more", stale: true, lost: 2, returned: 1},
		} {
			stale.Store(step.stale)
			time.Sleep(10 * contactInterval)
			synctest.Wait()
			lost, returned := logged.Count("no contact to the API server"), logged.Count("contact to the API server again")
			if lost != step.lost || returned != step.returned {
				t.Errorf("%s: %d lines that contact is lost and %d that it has returned, want %d and %d",
					step.name, lost, returned, step.lost, step.returned)
			}
		}
	})
}

// permissionsAt returns the service's permissions at an API server that responds to each review.
func permissionsAt(answer func(resource string) (bool, error)) *ownPermissions {
	client := &fake.Clientset{}
	client.AddReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		allowed, err := answer(review.Spec.ResourceAttributes.Resource)
		review.Status.Allowed = allowed
		return true, review, err
	})
	return &ownPermissions{client: client, needed: neededPermissions}
}

func TestOwnPermissions_SayWhatIsMissing(t *testing.T) {
	var err error
	denied := map[string]bool{}
	permissions := permissionsAt(func(resource string) (bool, error) { return !denied[resource], err })
	want := func(when string, answered bool, lacking, granted string) {
		t.Helper()
		if got := permissions.check(t.Context()); got != answered {
			t.Errorf("%s: it was answered: %t", when, got)
		}
		if got := text(permissions.lacking()); got != lacking {
			t.Errorf("%s: lacking returns %q", when, got)
		}
		if got := text(permissions.granted()); got != granted {
			t.Errorf("%s: granted returns %q", when, got)
		}
	}
	err = errors.New("unreachable")
	want("before the API server has responded", false, "", "the API server has not confirmed the service's permissions yet")
	err = nil
	want("with all permissions", true, "", "")
	denied["tokenreviews"] = true
	const missing = "the service's account is not allowed to create tokenreviews.authentication.k8s.io"
	want("without one", true, missing, missing)
	err = errors.New("unreachable")
	want("without one, and the API server is unreachable", false, missing, missing)
	err = nil
	clear(denied)
	want("with all again", true, "", "")
	err = apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectaccessreviews"}, "", nil)
	want("when the question is refused", true, "", "")
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
