package server

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// success is the API server's response to a deletion that is complete at once.
func success() metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
}

// successAt is success with a version, as API servers return it from Kubernetes 1.38 on: of the deletion, or of an eviction or a binding.
func successAt(version string) metav1.Status {
	status := success()
	status.ResourceVersion = version
	return status
}

// versionFor returns lists with a version, to the service itself or to callers only.
func versionFor(service, caller bool, version string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asCaller := r.Header.Get("Impersonate-User") != ""
		if asCaller && !caller || !asCaller && !service {
			servertest.AnswerWith(http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "Forbidden", Code: 403})(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
			ListMeta: metav1.ListMeta{ResourceVersion: version},
		})
	}
}

func TestDeletion_ReturnsVersionAtWhichItIsVisible(t *testing.T) {
	terminating := objecttest.Pod("a", 12)
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for name, test := range map[string]struct {
		answer          any
		service, caller bool // has the permission to list
		listed          string
		dryRun          bool
		want            string // for one object
		wantAll         string // for a collection
	}{
		"of what is answered as an object":      {answer: terminating, service: true, listed: "15", want: "12", wantAll: "15"},
		"of what is answered without a version": {answer: success(), service: true, listed: "15", want: "15", wantAll: "15"},
		"of a Status with the version":          {answer: successAt("14"), want: "14"},
		"of a Status with another version":      {answer: successAt("b-14"), service: true, listed: "15", want: "15", wantAll: "15"},
		"when only the caller may list":         {answer: success(), caller: true, listed: "15", want: "15", wantAll: "15"},
		"when nobody may list":                  {answer: success()},
		"without comparable versions":           {answer: success(), service: true, listed: "b-15"},
		"that is a dry run":                     {answer: terminating, service: true, listed: "15", dryRun: true},
	} {
		t.Run(name, func(t *testing.T) {
			api := servertest.PodsAPI()
			api.Change, api.List = servertest.AnswerWith(http.StatusOK, test.answer), versionFor(test.service, test.caller, test.listed)
			s := withRights(t, api, servertest.NewFakeRights(auth.Namespaces{All: true}))
			gone, err := s.resources.Delete(t.Context(), &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: "default", Name: "a", DryRun: test.dryRun})
			if err != nil || gone.GetResourceVersion() != test.want {
				t.Errorf("the deletion returned %q, %v; want %q", gone.GetResourceVersion(), err, test.want)
			}
			all, err := s.resources.DeleteCollection(t.Context(), &kubeconnectv1.DeleteCollectionRequest{Resource: "pods", Namespace: "default", DryRun: test.dryRun})
			if err != nil || all.GetResourceVersion() != test.wantAll {
				t.Errorf("the deletion of all returned %q, %v; want %q", all.GetResourceVersion(), err, test.wantAll)
			}
		})
	}
}

// TestDeletion_OfAnUncachedResourceAsksAsTheCallerAlone verifies that the service's own permissions
// are not used to read an uncached resource.
func TestDeletion_OfAnUncachedResourceAsksAsTheCallerAlone(t *testing.T) {
	api := servertest.PodsAPI()
	api.Change, api.List = servertest.AnswerWith(http.StatusOK, success()), versionFor(true, false, "15")
	s := newServiceWithHub(t, api, Config{Edge: edge.Config{Authenticator: servertest.NewFakeRights(auth.Namespaces{All: true})}, Authorizer: servertest.NewFakeRights(auth.Namespaces{All: true})},
		informerhub.Options{Uncached: []string{"pods"}})
	gone, err := s.resources.Delete(t.Context(), &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: "default", Name: "a"})
	if err != nil || gone.GetResourceVersion() != "" {
		t.Errorf("the deletion returned %q, %v", gone.GetResourceVersion(), err)
	}
}

func TestCreate_OfASubresourceReturnsTheVersionOfItsStatus(t *testing.T) {
	for _, subresource := range []string{"eviction", "binding"} {
		t.Run(subresource, func(t *testing.T) {
			api := servertest.PodsAPI()
			api.Change = servertest.AnswerWith(http.StatusCreated, successAt("14"))
			s := withRights(t, api, servertest.NewFakeRights(auth.Namespaces{All: true}))
			done, err := s.resources.Create(t.Context(), &kubeconnectv1.CreateRequest{
				Resource: "pods", Namespace: "default", Name: "a", Subresource: subresource,
				Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(`{"metadata":{"name":"a"}}`)},
			})
			if err != nil || done.GetResource().GetKind() != "Status" || done.GetObject().GetResourceVersion() != "14" {
				t.Errorf("returned %v, %v", done, err)
			}
		})
	}
}
