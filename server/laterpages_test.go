package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// TestList_PagesReportRemainingObjectsAndNextToken encodes pages of so small objects that all of
// those that were looked up fit in one.
func TestList_PagesReportRemainingObjectsAndNextToken(t *testing.T) {
	r := resourcesOf(t, podsAPI(), edge.Limits{})
	for name, test := range map[string]struct {
		more, whole bool
		left        uint64
		remaining   int64
		last        bool
	}{
		"others follow":                    {more: true, left: 100, remaining: 97},
		"others follow, more than counted": {more: true, left: 3, remaining: 1},
		"all are there":                    {left: 3, last: true},
		"the whole list is there":          {whole: true, left: 3, last: true},
	} {
		t.Run(name, func(t *testing.T) {
			list := &pagedList{listResult: listResult{snapshot: objecttest.PodSnapshot(t, 3)}, token: pageToken{left: test.left}, first: test.whole, complete: test.whole, more: test.more}
			page, err := r.page(calledBy(t.Context(), "jane"), list, listParams{view: encode.View{Encoding: asJSON, Messages: true}})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.GetObjects()) != 3 || page.GetRemainingItemCount() != test.remaining || (page.GetNextPageToken() == "") != test.last {
				t.Errorf("the page has %d objects, %d remain, and the next token is %q", len(page.GetObjects()), page.GetRemainingItemCount(), page.GetNextPageToken())
			}
		})
	}
}

// listsByGroup returns all pods to members of a group, and every second one to others, as an
// aggregated API can do.
func listsByGroup(api *fakeAPI, group string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: api.version}}
		for i, object := range api.objects {
			if i%2 == 0 || slices.Contains(r.Header.Values("Impersonate-Group"), group) {
				list.Items = append(list.Items, *object.(*corev1.Pod))
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
}

// TestList_IsKeptForItsCredentialAlone lists with two credentials of one user.
func TestList_IsKeptForItsCredentialAlone(t *testing.T) {
	api := manyPodsAPI(6, "100")
	api.list = listsByGroup(api, "admins")
	rights := newFakeRights(auth.Namespaces{All: true})
	s := withRights(t, api, rights)
	as := func(group string) {
		rights.mu.Lock()
		defer rights.mu.Unlock()
		rights.who = auth.Identity{Username: "jane", Groups: []string{group}}
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
	api := manyPodsAPI(10, "100")
	s := withRights(t, api, newFakeRights(auth.Namespaces{All: true}))
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 2, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST}
	token := firstPageToken(t, s, request)
	var many []string
	for i := range 1_000 {
		many = append(many, fmt.Sprintf("n%03d", i))
	}
	for name, names := range map[string][]string{"many": many, "not sorted": {"b", "a"}, "repeated": {"a", "a"}} {
		token.namespaces = strings.Join(names, "/")
		token.served = tokens{apiVersion: "v1"}.withScope(auth.Namespaces{Names: names}).served()
		request.PageToken = token.write()
		if _, err := s.resources.List(t.Context(), request); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: a token with %d namespaces resolves to %v", name, len(names), err)
		}
	}
}

// TestList_BehindTheWindowExpiresWhereTheAPIServerRefuses has callers that can only read from the
// cache.
func TestList_BehindTheWindowExpiresWhereTheAPIServerRefuses(t *testing.T) {
	before := manyPodsAPI(10, "100")
	first := withRights(t, before, newFakeRights(auth.Namespaces{All: true}))
	for reason, code := range map[metav1.StatusReason]int{metav1.StatusReasonForbidden: http.StatusForbidden, metav1.StatusReasonUnauthorized: http.StatusUnauthorized} {
		refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
		})
		later := withRights(t, &fakeAPI{objects: before.objects, version: "200", events: make(chan any), list: refuses}, newFakeRights(auth.Namespaces{All: true}))
		_, _, err := walkReplicas(t, &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 3}, first, later)
		if connect.CodeOf(err) != connect.CodeOutOfRange {
			t.Errorf("%s: the list ends with %v", reason, err)
		}
	}
}

// TestList_ThatCannotBeKeptExpires reads two lists of the API server alternately, page by page,
// with memory for one.
func TestList_ThatCannotBeKeptExpires(t *testing.T) {
	api := manyPodsAPI(20, "100")
	for _, object := range api.objects {
		object.(*corev1.Pod).Annotations = map[string]string{"a": strings.Repeat("x", 10<<10)}
	}
	var lists atomic.Int32
	all := listsByNamespace(api)
	api.list = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lists.Add(1)
		all.ServeHTTP(w, r)
	})
	r := resourcesOf(t, api, edge.Limits{})
	// A caller can use half of it, and a list has 270 KiB.
	r.Lists.cache.memory = fairqueue.New(fairqueue.Limits{Total: 700 << 10})
	walk := func(request *kubeconnectv1.ListRequest) error {
		page, err := r.List(calledBy(t.Context(), "jane"), request)
		request.PageToken = page.GetNextPageToken()
		return err
	}
	one := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST}
	other := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST, LabelSelector: "rank"}
	for _, request := range []*kubeconnectv1.ListRequest{one, other, one} {
		if err := walk(request); err != nil {
			t.Fatal(err)
		}
	}
	if err := walk(other); connect.CodeOf(edge.ConnectError(err)) != connect.CodeOutOfRange {
		t.Errorf("the list that is not cached returned %v", err)
	}
	for one.PageToken != "" {
		if err := walk(one); err != nil {
			t.Fatal(err)
		}
	}
	if asked := lists.Load(); asked != 3 {
		t.Errorf("the API server has listed %d times, not once for each list and once more", asked)
	}
}

// TestList_WaitsForAllDeletionsOfItsVersion continues a list at a replica that knows one deletion
// at the list's version, and cannot find out whether there were more.
func TestList_WaitsForAllDeletionsOfItsVersion(t *testing.T) {
	api := manyPodsAPI(6, "100")
	api.list = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusServiceUnavailable) })
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 2}
	token := firstPageToken(t, s, request)
	api.events <- watchEvent{"DELETED", objecttest.Pod("pod-03", 101)}
	token.position.Version = "101" // as from a replica that knows all deletions
	request.PageToken = token.write()
	if page, err := s.resources.List(t.Context(), request); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the page has %v, %v", page.GetObjects(), err)
	}
}

// TestList_CachedAPIServerListsHaveTheReplicasFreshness reads pages of a list that is older than
// the window, and one of the present state.
func TestList_CachedAPIServerListsHaveTheReplicasFreshness(t *testing.T) {
	before := manyPodsAPI(10, "100")
	first := newService(t, before, auth.KubeconfigAuthenticator{})
	later := newService(t, &fakeAPI{objects: before.objects, version: "200", events: make(chan any), list: &versionedLists{api: before, version: "100"}}, auth.KubeconfigAuthenticator{})
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
