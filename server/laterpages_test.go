package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// listsByGroup returns all pods to members of a group, and every second one to others, as an
// aggregated API can do.
func listsByGroup(api *servertest.FakeAPI, group string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: api.Version}}
		for i, object := range api.Objects {
			if i%2 == 0 || slices.Contains(r.Header.Values("Impersonate-Group"), group) {
				list.Items = append(list.Items, *object.(*corev1.Pod))
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
}

// TestList_IsKeptForItsCredentialAlone lists with two credentials of one user.
func TestList_IsKeptForItsCredentialAlone(t *testing.T) {
	api := servertest.ManyPodsAPI(6, "100")
	api.List = listsByGroup(api, "admins")
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	s := withRights(t, api, rights)
	as := func(group string) {
		rights.Mu.Lock()
		defer rights.Mu.Unlock()
		rights.Who = auth.Identity{Username: "jane", Groups: []string{group}}
	}
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST}
	as("admins")
	first, err := s.resources.List(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	as("few")
	request.PageToken = first.GetNextPageToken()
	if names, _, err := walkReplicas(t, request, s); err != nil || fmt.Sprint(names) != "[pod-02 pod-04]" {
		t.Errorf("with the token of another credential, %v are listed, %v", names, err)
	}
}

// TestList_TokensWithInvalidNamespacesAreRejected forges tokens: each namespace could cause a
// request to the API server.
func TestList_TokensWithInvalidNamespacesAreRejected(t *testing.T) {
	api := servertest.ManyPodsAPI(10, "100")
	s := withRights(t, api, servertest.NewFakeRights(auth.Namespaces{All: true}))
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 2, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST}
	token := firstPageToken(t, s, request)
	var many []string
	for i := range 1_000 {
		many = append(many, fmt.Sprintf("n%03d", i))
	}
	for name, names := range map[string][]string{"many": many, "not sorted": {"b", "a"}, "repeated": {"a", "a"}} {
		token.Namespaces = strings.Join(names, "/")
		token.Served = tokens.Watch{ApiVersion: "v1"}.WithScope(auth.Namespaces{Names: names}).Served()
		request.PageToken = token.Write()
		if _, err := s.resources.List(t.Context(), request); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: a token with %d namespaces resolves to %v", name, len(names), err)
		}
	}
}

// TestList_BehindTheWindowExpiresWhereTheAPIServerRefuses has callers that can only read from the
// cache.
func TestList_BehindTheWindowExpiresWhereTheAPIServerRefuses(t *testing.T) {
	before := servertest.ManyPodsAPI(10, "100")
	first := withRights(t, before, servertest.NewFakeRights(auth.Namespaces{All: true}))
	for reason, code := range map[metav1.StatusReason]int{metav1.StatusReasonForbidden: http.StatusForbidden, metav1.StatusReasonUnauthorized: http.StatusUnauthorized} {
		refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
		})
		later := withRights(t, &servertest.FakeAPI{Objects: before.Objects, Version: "200", Events: make(chan any), List: refuses}, servertest.NewFakeRights(auth.Namespaces{All: true}))
		_, _, err := walkReplicas(t, &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 3}, first, later)
		if connect.CodeOf(err) != connect.CodeOutOfRange {
			t.Errorf("%s: the list ends with %v", reason, err)
		}
	}
}

// TestList_WaitsForAllDeletionsOfItsVersion continues a list at a replica that knows one deletion
// at the list's version, and cannot find out whether there were more.
func TestList_WaitsForAllDeletionsOfItsVersion(t *testing.T) {
	t.Parallel()
	api := servertest.ManyPodsAPI(6, "100")
	api.List = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusServiceUnavailable) })
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 2}
	token := firstPageToken(t, s, request)
	api.Events <- servertest.Deleted(objecttest.Pod("pod-03", 101))
	token.Position.Version = "101" // as from a replica that knows all deletions
	request.PageToken = token.Write()
	if page, err := s.resources.List(t.Context(), request); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the page has %v, %v", page.GetObjects(), err)
	}
}

// TestList_CachedAPIServerListsHaveTheReplicasFreshness reads pages of a list that is older than
// the window, and one of the present state.
func TestList_CachedAPIServerListsHaveTheReplicasFreshness(t *testing.T) {
	before := servertest.ManyPodsAPI(10, "100")
	first := newService(t, before, auth.KubeconfigAuthenticator{})
	later := newService(t, &servertest.FakeAPI{Objects: before.Objects, Version: "200", Events: make(chan any), List: &versionedLists{api: before, version: "100"}}, auth.KubeconfigAuthenticator{})
	list := func(s *service, request *kubeconnectv1.ListRequest) *kubeconnectv1.ListResponse {
		page, err := s.resources.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 3}
	request.PageToken = list(first, request).GetNextPageToken()
	for range 2 {
		page := list(later, request)
		present := list(later, &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 3})
		if page.GetSource() != kubeconnectv1.Source_SOURCE_API_SERVER || !proto.Equal(page.GetFreshness(), present.GetFreshness()) {
			t.Errorf("a page from %v is current as of %v, and the replica as of %v", page.GetSource(), page.GetFreshness(), present.GetFreshness())
		}
		request.PageToken = page.GetNextPageToken()
	}
}
