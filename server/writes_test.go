package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
	"github.com/kubeconnect/kubeconnect/server/target"
)

func patchOf(resource string) *kubeconnectv1.PatchRequest {
	return &kubeconnectv1.PatchRequest{
		Resource: resource, Namespace: "default", Name: "a", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE, Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(`{"x":1}`)}, Encoding: asJSON,
	}
}

// writeService returns a service whose API server responds to each change by a function.
func writeService(t *testing.T, change http.HandlerFunc) *service {
	t.Helper()
	api := servertest.PodsAPI()
	api.Change = change
	return newService(t, api, auth.KubeconfigAuthenticator{})
}

func TestWrites_ToNonObjectSubresourcesAreRejected(t *testing.T) {
	s := writeService(t, servertest.AnswerWith(http.StatusOK, objecttest.Pod("a", 12)))
	for part, instead := range target.NonObjectSubresources {
		created, updated, patched := &kubeconnectv1.CreateRequest{}, &kubeconnectv1.UpdateRequest{}, patchOf("pods")
		created.Resource, created.Namespace, created.Name, created.Subresource = "pods", "default", "a", part
		updated.Resource, updated.Namespace, updated.Name, updated.Subresource = "pods", "default", "a", part
		created.Body = &kubeconnectv1.CreateRequest_Data{Data: []byte("{}")}
		updated.Body = &kubeconnectv1.UpdateRequest_Data{Data: []byte("{}")}
		patched.Subresource = part
		_, createErr := s.resources.Create(t.Context(), created)
		_, updateErr := s.resources.Update(t.Context(), updated)
		_, patchErr := s.resources.Patch(t.Context(), patched)
		for verb, err := range map[string]error{"create": createErr, "update": updateErr, "patch": patchErr} {
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), instead) {
				t.Errorf("%s of %s: %v", verb, part, err)
			}
		}
	}
	if len(s.api.Changes) > 0 {
		t.Errorf("the API server is asked for %v", s.api.Changes)
	}
}

// TestWrites_WithTooManyHeadersSayWhy has an API server that does not accept the headers by which the caller is impersonated.
func TestWrites_WithTooManyHeadersSayWhy(t *testing.T) {
	api := servertest.PodsAPI()
	api.Change = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
		_, _ = w.Write([]byte("<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>"))
	})
	s := withRights(t, api, servertest.NewFakeRights(auth.Namespaces{All: true}))
	_, patchErr := s.resources.Patch(t.Context(), patchOf("pods"))
	_, deleteErr := s.resources.Delete(t.Context(), &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: "default", Name: "a"})
	for verb, err := range map[string]error{"patch": patchErr, "delete": deleteErr} {
		if connect.CodeOf(err) != connect.CodePermissionDenied || statustest.Of(t, err).GetReason() != "Forbidden" ||
			!strings.Contains(err.Error(), "cannot impersonate this user") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func TestPatch_IsSentUnchanged(t *testing.T) {
	for resource, path := range map[string]string{
		"pods":    "/api/v1/namespaces/default/pods/a/status",
		"widgets": "/apis/example.com/v1/namespaces/default/widgets/a/status",
	} {
		t.Run(resource, func(t *testing.T) {
			var body []byte
			s := writeService(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				servertest.AnswerWith(http.StatusOK, objecttest.Pod("a", 12))(w, r)
			})
			request := patchOf(resource)
			request.Subresource, request.FieldManager, request.DryRun = "status", "me", true
			if _, err := s.resources.Patch(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			sent := s.api.Changes[0]
			if sent.Method != http.MethodPatch || sent.URL.Path != path || sent.Header.Get("Content-Type") != "application/merge-patch+json" || string(body) != `{"x":1}` {
				t.Errorf("sends %s %s, %s: %s", sent.Method, sent.URL.Path, sent.Header.Get("Content-Type"), body)
			}
			if query := sent.URL.Query(); query.Get("fieldManager") != "me" || query.Get("dryRun") != "All" {
				t.Errorf("with %v", query)
			}
			if sent.Header.Get("Authorization") != "" {
				t.Error("with an unexpected credential")
			}
		})
	}
}

func TestPatch_ReturnsTheObjectAndWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		resource string
		status   int
		created  bool
	}{
		"a pod that was there":    {"pods", http.StatusOK, false},
		"a pod that was made":     {"pods", http.StatusCreated, true},
		"a widget that was there": {"widgets", http.StatusOK, false},
		"a widget that was made":  {"widgets", http.StatusCreated, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := writeService(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Add("Warning", `299 - "spec.old is deprecated"`)
				w.Header().Add("Warning", `299 - "so is spec.older"`)
				servertest.AnswerWith(test.status, objecttest.Pod("a", 12))(w, r)
			})
			answer, err := s.resources.Patch(t.Context(), patchOf(test.resource))
			if err != nil {
				t.Fatal(err)
			}
			if answer.GetObject().GetResourceVersion() != "12" || answer.GetCreated() != test.created || answer.GetResource().GetKind() != "Pod" {
				t.Errorf("returned %v", answer)
			}
			if warnings := answer.GetWarnings(); len(warnings) != 2 || warnings[1] != "so is spec.older" {
				t.Errorf("warns %q", warnings)
			}
		})
	}
}

func TestPatch_ReturnsTheAPIServersErrors(t *testing.T) {
	for name, status := range map[string]metav1.Status{
		"a conflict":    apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", errors.New("it has changed")).ErrStatus,
		"not found":     apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a").ErrStatus,
		"not permitted": apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("no")).ErrStatus,
	} {
		for _, resource := range []string{"pods", "widgets"} {
			t.Run(name+" of "+resource, func(t *testing.T) {
				status.Kind, status.APIVersion = "Status", "v1"
				s := writeService(t, servertest.AnswerWith(int(status.Code), status))
				_, err := s.resources.Patch(t.Context(), patchOf(resource))
				if got := statustest.Of(t, err); got.GetReason() != string(status.Reason) || got.GetMessage() != status.Message {
					t.Errorf("returned %v", err)
				}
			})
		}
	}
}

// TestPatch_IsNotRetried returns 429, once as an API server does and once as its
// flow control does, which has no Status for it.
func TestPatch_IsNotRetried(t *testing.T) {
	full := apierrors.NewTooManyRequests("a disruption budget", 7).ErrStatus
	full.Kind, full.APIVersion = "Status", "v1"
	for name, answer := range map[string]http.HandlerFunc{
		"with a Status": servertest.AnswerWith(http.StatusTooManyRequests, full),
		"as plain text": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		for _, resource := range []string{"pods", "widgets"} {
			t.Run(name+" for "+resource, func(t *testing.T) {
				s := writeService(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Retry-After", "7")
					answer(w, r)
				})
				_, err := s.resources.Patch(t.Context(), patchOf(resource))
				if connect.CodeOf(err) != connect.CodeResourceExhausted || statustest.Of(t, err).GetRetryAfterSeconds() != 7 {
					t.Errorf("returned %v, %v", err, statustest.Of(t, err))
				}
				if len(s.api.Changes) != 1 {
					t.Errorf("was sent %d times", len(s.api.Changes))
				}
			})
		}
	}
}

func TestPatch_InvalidOnesAreNotSent(t *testing.T) {
	change := func(with func(*kubeconnectv1.PatchRequest)) *kubeconnectv1.PatchRequest {
		request := patchOf("widgets")
		with(request)
		return request
	}
	s := writeService(t, servertest.AnswerWith(http.StatusOK, objecttest.Pod("a", 12)))
	for name, test := range map[string]struct {
		request *kubeconnectv1.PatchRequest
		code    connect.Code
	}{
		"a way out by the subresource": {change(func(r *kubeconnectv1.PatchRequest) {
			r.Subresource = "../../../../../../api/v1/namespaces/x/configmaps/y"
		}), connect.CodeInvalidArgument},
		"a way out by the name":      {change(func(r *kubeconnectv1.PatchRequest) { r.Name = "../a" }), connect.CodeInvalidArgument},
		"a way out by the namespace": {change(func(r *kubeconnectv1.PatchRequest) { r.Namespace = ".." }), connect.CodeInvalidArgument},
		"no type":                    {change(func(r *kubeconnectv1.PatchRequest) { r.Type = 0 }), connect.CodeInvalidArgument},
		"no body":                    {change(func(r *kubeconnectv1.PatchRequest) { r.Body = nil }), connect.CodeInvalidArgument},
		"no field manager for Apply": {change(func(r *kubeconnectv1.PatchRequest) { r.Type = kubeconnectv1.PatchType_PATCH_TYPE_APPLY }), connect.CodeInvalidArgument},
		"an encoding not known":      {change(func(r *kubeconnectv1.PatchRequest) { r.Encoding = 99 }), connect.CodeInvalidArgument},
		"a resource not served":      {change(func(r *kubeconnectv1.PatchRequest) { r.Resource = "nosuch" }), connect.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.resources.Patch(t.Context(), test.request); connect.CodeOf(err) != test.code {
				t.Errorf("returned %v, want %s", err, test.code)
			}
		})
	}
	if len(s.api.Changes) != 0 {
		t.Errorf("sent %s", s.api.Changes[0].URL.Path)
	}
}

func TestPatch_FailedConnectionIsUnavailable(t *testing.T) {
	for _, resource := range []string{"pods", "widgets"} {
		s := writeService(t, func(w http.ResponseWriter, _ *http.Request) {
			if hijacked, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_ = hijacked.Close() // in the middle of the response
			}
		})
		_, err := s.resources.Patch(t.Context(), patchOf(resource))
		if connect.CodeOf(err) != connect.CodeUnavailable || statustest.Of(t, err).GetReason() != "ServiceUnavailable" {
			t.Errorf("%s: returned %v", resource, err)
		}
	}
}

// TestPreconditions_VersionsOfNoObjectAreRejected sends versions that the API server takes for any version,
// and such that it cannot read.
func TestPreconditions_VersionsOfNoObjectAreRejected(t *testing.T) {
	s := writeService(t, servertest.AnswerWith(http.StatusOK, objecttest.Pod("a", 12)))
	for _, version := range []string{"0", "00", "AAAA", "-1", "1.5", "012", " 12"} {
		zero := &kubeconnectv1.Preconditions{ResourceVersion: version}
		patched := patchOf("pods")
		patched.Preconditions = zero
		_, patchErr := s.resources.Patch(t.Context(), patched)
		_, updateErr := s.resources.Update(t.Context(), &kubeconnectv1.UpdateRequest{
			Resource: "pods", Namespace: "default", Name: "a", Preconditions: zero, Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte("{}")},
		})
		_, deleteErr := s.resources.Delete(t.Context(), &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: "default", Name: "a", Preconditions: zero})
		for verb, err := range map[string]error{"patch": patchErr, "update": updateErr, "delete": deleteErr} {
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "which no object has") {
				t.Errorf("%s at version %q: %v", verb, version, err)
			}
		}
	}
	if len(s.api.Changes) > 0 {
		t.Errorf("the API server is asked for %v", s.api.Changes)
	}
}
