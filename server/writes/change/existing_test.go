package change

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

var (
	leases   = informerhub.Resource{Group: "coordination.k8s.io", Version: "v1", Name: "leases", Kind: "Lease", Namespaced: true}
	pods     = informerhub.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	services = informerhub.Resource{Version: "v1", Name: "services", Kind: "Service", Namespaced: true}
	widgets  = informerhub.Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true}
)

// versionedAPI is an API server that returns objects with the UID "u", or an error if it is not nil.
type versionedAPI struct {
	readErr, changeErr *apierrors.StatusError
	requests           []string // method and body
}

func (a *versionedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.requests = append(a.requests, r.Method+" "+string(body))
	w.Header().Set("Content-Type", "application/json")
	failed := a.changeErr
	if r.Method == http.MethodGet {
		failed = a.readErr
	}
	if failed != nil {
		failed.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(failed.ErrStatus.Code))
		_ = json.NewEncoder(w).Encode(failed.ErrStatus)
		return
	}
	_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Any","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"}}`)
}

// do sends a change of an object "a" to the API server.
func (a *versionedAPI) do(t *testing.T, resource informerhub.Resource, subresource string, change Change) error {
	t.Helper()
	upstream := httptest.NewServer(a)
	t.Cleanup(upstream.Close)
	clients, err := auth.NewClientFactory(&rest.Config{Host: upstream.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Resource: resource, Namespace: "ns", Name: "a", Subresource: subresource}
	_, err = Writer{Clients: clients.ForService(), Sends: func() {}}.Do(t.Context(), target, change)
	return err
}

func updateUnder(t *testing.T, body string, required *metav1.Preconditions) Update {
	t.Helper()
	manifest, err := ParseData([]byte(body))
	if err == nil {
		manifest, err = manifest.WithPreconditions(required)
	}
	if err != nil {
		t.Fatal(err)
	}
	return Update{Manifest: manifest}
}

func patchUnder(t *testing.T, kind types.PatchType, body string, required *metav1.Preconditions) Patch {
	t.Helper()
	patch, err := Patch{Kind: kind, Body: []byte(body)}.WithPreconditions(required)
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

func TestWriter_SendsTheUIDWithTheVersionOfAnExistingObject(t *testing.T) {
	const (
		withBoth = `{"metadata":{"uid":"u","resourceVersion":"7"}}`
		uidLast  = `{"metadata":{"resourceVersion":"7","uid":"u"}}`
	)
	for name, test := range map[string]struct {
		resource    informerhub.Resource
		subresource string
		change      Change
		want        []string // requests
	}{
		"an apply patch": {resource: pods, change: patchUnder(t, types.ApplyYAMLPatchType, `{}`, wanting("", "7")), want: []string{"GET ", "PATCH " + withBoth}},
		"a version in an apply patch": {
			resource: pods, change: patchUnder(t, types.ApplyYAMLPatchType, "metadata: {resourceVersion: '7'}\n", nil), want: []string{"GET ", "PATCH " + withBoth},
		},
		"an update that can create":       {resource: leases, change: updateUnder(t, `{}`, wanting("", "7")), want: []string{"GET ", "PUT " + withBoth}},
		"a version in an update":          {resource: leases, change: updateUnder(t, `{"metadata":{"resourceVersion":"7"}}`, nil), want: []string{"GET ", "PUT " + withBoth}},
		"an update of a service's status": {resource: services, subresource: "status", change: updateUnder(t, `{}`, wanting("", "7")), want: []string{"GET ", "PUT " + withBoth}},
		"an update that cannot create":    {resource: pods, change: updateUnder(t, `{}`, wanting("", "7")), want: []string{`PUT {"metadata":{"resourceVersion":"7"}}`}},
		"a UID is required":               {resource: leases, change: updateUnder(t, `{}`, wanting("u", "7")), want: []string{"PUT " + uidLast}},
		"a UID in the body":               {resource: leases, change: updateUnder(t, `{"metadata":{"uid":"u"}}`, wanting("", "7")), want: []string{"PUT " + uidLast}},
		"a UID in an apply patch":         {resource: pods, change: patchUnder(t, types.ApplyYAMLPatchType, `{}`, wanting("u", "7")), want: []string{"PATCH " + uidLast}},
		"no version":                      {resource: leases, change: updateUnder(t, `{}`, nil), want: []string{"PUT {}"}},
		"an apply patch without a version": {
			resource: pods, change: patchUnder(t, types.ApplyYAMLPatchType, `{}`, nil), want: []string{"PATCH {}"},
		},
		"an apply patch of another status": {
			resource: pods, subresource: "status", change: patchUnder(t, types.ApplyYAMLPatchType, `{}`, wanting("", "7")), want: []string{`PATCH {"metadata":{"resourceVersion":"7"}}`},
		},
		"a merge patch": {resource: leases, change: patchUnder(t, types.MergePatchType, `{}`, wanting("", "7")), want: []string{`PATCH {"metadata":{"resourceVersion":"7"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &versionedAPI{}
			if err := api.do(t, test.resource, test.subresource, test.change); err != nil {
				t.Error(err)
			}
			if !slices.Equal(api.requests, test.want) {
				t.Errorf("sends %q, want %q", api.requests, test.want)
			}
		})
	}
}

// TestUpdate_CreatesKindsOfUnknownServers compares custom resources with those of an aggregated API.
func TestUpdate_CreatesKindsOfUnknownServers(t *testing.T) {
	aggregated := widgets
	aggregated.Refused = true
	if (Update{}).creates(Target{Resource: widgets}) || !(Update{}).creates(Target{Resource: aggregated}) {
		t.Error("an update can create a custom resource, or cannot create an object of an aggregated API")
	}
}

func TestWriter_RequiredVersionOfAMissingObjectIsAConflict(t *testing.T) {
	resource := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	uidMismatch := apierrors.NewConflict(resource, "a", errors.New("uid mismatch: the provided object specified uid u, and no existing object was found"))
	for name, test := range map[string]struct {
		api      *versionedAPI
		requests int
	}{
		"missing":                  {api: &versionedAPI{readErr: apierrors.NewNotFound(resource, "a")}, requests: 1},
		"deleted after it is read": {api: &versionedAPI{changeErr: uidMismatch}, requests: 2},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.api.do(t, leases, "", updateUnder(t, `{}`, wanting("", "7")))
			if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "no object with the required resource version 7") {
				t.Errorf("returned %v", err)
			}
			if len(test.api.requests) != test.requests {
				t.Errorf("sent %q", test.api.requests)
			}
		})
	}
}

func TestWriter_SendsNoChangeIfTheObjectCannotBeRead(t *testing.T) {
	api := &versionedAPI{readErr: apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "a", nil)}
	if err := api.do(t, leases, "", updateUnder(t, `{}`, wanting("", "7"))); !apierrors.IsForbidden(err) {
		t.Errorf("returned %v", err)
	}
	if len(api.requests) != 1 {
		t.Errorf("sent %q", api.requests)
	}
}

// TestMapUIDConflict_NamesAMissingObject has the messages of API servers that check the UID of an update before they look
// whether the object exists.
func TestMapUIDConflict_NamesAMissingObject(t *testing.T) {
	required := types.UID("1")
	for name, test := range map[string]struct {
		resource informerhub.Resource
		found    string
		missing  bool
	}{
		"another object":                  {pods, "2", false},
		"no object":                       {pods, "", true},
		"no object, which is not created": {leases, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			message := "StorageError: invalid object, Code: 4, AdditionalErrorMsg: Precondition failed: UID in precondition: 1, UID in object meta: " + test.found
			dest := Target{Resource: test.resource, Namespace: "ns", Name: "a"}
			err := MapUIDConflict(apierrors.NewConflict(test.resource.GroupResource(), "a", errors.New(message)), dest, &metav1.Preconditions{UID: &required})
			if apierrors.IsNotFound(err) != test.missing || apierrors.IsConflict(err) == test.missing || strings.Contains(err.Error(), "StorageError") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
