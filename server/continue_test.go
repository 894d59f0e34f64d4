package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// walkReplicas lists page by page, each page from the next replica.
func walkReplicas(t *testing.T, request *kubeconnectv1.ListRequest, replicas ...*service) (names []string, sources []kubeconnectv1.Source, err error) {
	t.Helper()
	for page := 0; ; page++ {
		answer, err := replicas[page%len(replicas)].resources.List(t.Context(), request)
		if err != nil {
			return names, sources, err
		}
		for _, object := range answer.GetObjects() {
			names = append(names, object.GetName())
		}
		sources = append(sources, answer.GetSource())
		if request.PageToken = answer.GetNextPageToken(); request.PageToken == "" {
			return names, sources, nil
		}
	}
}

// TestList_IsContinuedAtAnotherReplica uses each kind of list.
func TestList_IsContinuedAtAnotherReplica(t *testing.T) {
	api := servertest.ManyPodsAPI(10, "100")
	replicas := []*service{newService(t, api, auth.KubeconfigAuthenticator{}), newService(t, api, auth.KubeconfigAuthenticator{})}
	forward := "[pod-00 pod-01 pod-02 pod-03 pod-04 pod-05 pod-06 pod-07 pod-08 pod-09]"
	for name, test := range map[string]struct {
		request *kubeconnectv1.ListRequest
		want    string
	}{
		"default order": {&kubeconnectv1.ListRequest{}, forward},
		"sorted":        {&kubeconnectv1.ListRequest{OrderBy: "metadata.labels.rank"}, "[pod-09 pod-08 pod-07 pod-06 pod-05 pod-04 pod-03 pod-02 pod-01 pod-00]"},
		"filtered":      {&kubeconnectv1.ListRequest{Filter: "int(object.metadata.labels.rank) > 5"}, "[pod-00 pod-01 pod-02 pod-03 pod-04]"},
		"latest":        {&kubeconnectv1.ListRequest{Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST}, forward},
		"owned over any number of owners": {&kubeconnectv1.ListRequest{Related: &kubeconnectv1.Relation{
			Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "pods", Namespace: "default", Name: "pod-00", Transitive: true,
		}}, "[]"},
	} {
		for _, size := range []int32{1, 3, 20} {
			request := test.request
			request.Resource, request.PageSize = "pods", size
			if got, _, err := walkReplicas(t, request, replicas...); err != nil || fmt.Sprint(got) != test.want {
				t.Errorf("%s by %d: lists %v, %v; want %s", name, size, got, err, test.want)
			}
		}
	}
}

// versionedLists returns the pods of an API server for lists at one version, and Expired for
// others.
type versionedLists struct {
	api     *servertest.FakeAPI
	version string
	exact   atomic.Int32 // the number of lists at exactly that version
	answers string       // the version in the response; empty for the requested one
}

func (l *versionedLists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("resourceVersion") != l.version || query.Get("resourceVersionMatch") != "Exact" {
		w.WriteHeader(http.StatusGone)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "Expired", Code: 410})
		return
	}
	l.exact.Add(1)
	version := l.version
	if l.answers != "" {
		version = l.answers
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, object := range l.api.Objects {
		list.Items = append(list.Items, *object.(*corev1.Pod))
	}
	_ = json.NewEncoder(w).Encode(list)
}

// TestList_OlderThanTheWindowContinuesAtTheAPIServer continues at a replica that started with a
// later version.
func TestList_OlderThanTheWindowContinuesAtTheAPIServer(t *testing.T) {
	before := servertest.ManyPodsAPI(10, "100")
	first := newService(t, before, auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		lists   *versionedLists
		expired bool
	}{
		"it remembers":                  {&versionedLists{api: before, version: "100"}, false},
		"it has forgotten":              {&versionedLists{api: before, version: "150"}, true},
		"it answers another version":    {&versionedLists{api: before, version: "100", answers: "200"}, true},
		"it has none of these versions": {&versionedLists{api: before, version: "none"}, true},
	} {
		for _, order := range []string{"", "metadata.labels.rank"} {
			test.lists.exact.Store(0)
			later := newService(t, &servertest.FakeAPI{Objects: before.Objects[:2], Version: "200", Events: make(chan any), List: test.lists}, auth.KubeconfigAuthenticator{})
			request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 3, OrderBy: order}
			names, sources, err := walkReplicas(t, request, first, later, later, later)
			switch {
			case test.expired && connect.CodeOf(err) != connect.CodeOutOfRange:
				t.Errorf("%s, ordered by %q: returned %v, %v", name, order, names, err)
			case !test.expired && (err != nil || len(names) != 10 || sources[1] != kubeconnectv1.Source_SOURCE_API_SERVER):
				t.Errorf("%s, ordered by %q: lists %v from %v, %v", name, order, names, sources, err)
			case !test.expired && test.lists.exact.Load() != 1:
				t.Errorf("%s, ordered by %q: the API server is asked %d times for the version", name, order, test.lists.exact.Load())
			}
		}
	}
}

// TestList_OfAChangedRelationExpires continues a list after the related object was
// replaced.
func TestList_OfAChangedRelationExpires(t *testing.T) {
	owned := func(owner string) *servertest.FakeAPI {
		api := servertest.ManyPodsAPI(6, "100")
		for _, object := range api.Objects[1:] {
			object.(*corev1.Pod).OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod-00", UID: "uid-of-the-owner"}}
		}
		api.Objects[0].(*corev1.Pod).UID = "uid-of-the-owner"
		if owner != "" {
			api.Objects[0].(*corev1.Pod).UID = "uid-of-another"
		}
		return api
	}
	same, other := newService(t, owned(""), auth.KubeconfigAuthenticator{}), newService(t, owned("another"), auth.KubeconfigAuthenticator{})
	for _, transitive := range []bool{false, true} {
		request := func() *kubeconnectv1.ListRequest {
			return &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 2, Related: &kubeconnectv1.Relation{
				Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "pods", Namespace: "default", Name: "pod-00", Transitive: transitive,
			}}
		}
		if names, _, err := walkReplicas(t, request(), same, same); err != nil || len(names) != 5 {
			t.Errorf("transitive %t: lists %v, %v", transitive, names, err)
		}
		if names, _, err := walkReplicas(t, request(), same, other); connect.CodeOf(err) != connect.CodeOutOfRange {
			t.Errorf("transitive %t: where the owner is another one it lists %v, %v", transitive, names, err)
		}
	}
}

// firstPageToken requests the first page of a list, and returns the token of the next one.
func firstPageToken(t *testing.T, s *service, request *kubeconnectv1.ListRequest) tokens.Page {
	t.Helper()
	first, err := s.resources.List(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.PageToken = first.GetNextPageToken()
	token, err := tokens.ReadPage(request.GetPageToken(), tokens.QueryOf(request))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestList_ForgedTokensAreChecked lists with forged tokens: of versions that the cluster has not
// reached, and of other lists.
func TestList_ForgedTokensAreChecked(t *testing.T) {
	s := newService(t, servertest.ManyPodsAPI(4, "100"), auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 2}
	token := firstPageToken(t, s, request)
	for name, test := range map[string]struct {
		change func(*tokens.Page)
		want   connect.Code // 0 for none
		names  string
	}{
		"from the beginning":         {func(t *tokens.Page) { t.Last.Name = "" }, 0, "pod-00 pod-01"},
		"with a number of its own":   {func(t *tokens.Page) { t.Left = 1 << 62 }, 0, "pod-02 pod-03"},
		"behind the end":             {func(t *tokens.Page) { t.Last.Name = "z" }, 0, ""},
		"of other namespaces":        {func(t *tokens.Page) { t.Namespaces = "a/b" }, connect.CodeOutOfRange, ""},
		"of a version of the future": {func(t *tokens.Page) { t.Position.Version = "99999999999" }, connect.CodeOutOfRange, ""},
		"of objects that are others": {func(t *tokens.Page) { t.Objects, t.Position.Version = "x", "0" }, connect.CodeOutOfRange, ""},
	} {
		forged := token
		test.change(&forged)
		request.PageToken = forged.Write()
		answer, err := s.resources.List(t.Context(), request)
		var names []string
		for _, object := range answer.GetObjects() {
			names = append(names, object.GetName())
		}
		if got := strings.Join(names, " "); got != test.names || err != nil != (test.want != 0) || err != nil && connect.CodeOf(err) != test.want {
			t.Errorf("%s: lists %q, %v", name, got, err)
		}
	}
}
