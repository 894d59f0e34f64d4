package informerhub

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// listing is a call of Live.List.
type listing struct {
	snapshot Snapshot
	err      error
}

func listLive(t *testing.T, api *fakeapi.Server, query Query, most int) <-chan listing {
	t.Helper()
	live, err := hubOf(t, api.Config()).Live(pods, http.DefaultClient)
	must(t, err)
	answered := make(chan listing, 1)
	go func() {
		snapshot, _, err := live.List(t.Context(), query, most)
		answered <- listing{snapshot, err}
	}()
	return answered
}

// page returns a page of a list of pods.
func page(version, next string, names ...string) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: next}}
	for _, name := range names {
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "u", ResourceVersion: "1"}})
	}
	return list
}

func wantNames(t *testing.T, got listing, names ...string) {
	t.Helper()
	must(t, got.err)
	var listed []string
	for _, object := range got.snapshot.Objects {
		listed = append(listed, object.Name())
	}
	if !slices.Equal(listed, names) {
		t.Errorf("listed %v, want %v", listed, names)
	}
}

func wantQuery(t *testing.T, c *fakeapi.Call, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := c.Query().Get(name); got != value {
			t.Errorf("%s is %q, want %q: %s", name, got, value, c.Request.URL)
		}
	}
}

func TestLive_ListFollowsPages(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	answered := listLive(t, api, Query{LabelSelector: "a=b", FieldSelector: "c=d"}, 1<<20)
	first := api.Next(t, "list")
	wantQuery(t, first, map[string]string{"limit": "500", "continue": "", "resourceVersion": "", "labelSelector": "a=b", "fieldSelector": "c=d"})
	first.List(t, page("7", "more", "x", "y"))
	second := api.Next(t, "list")
	wantQuery(t, second, map[string]string{"limit": "500", "continue": "more", "resourceVersion": "", "labelSelector": "a=b", "fieldSelector": "c=d"})
	second.List(t, page("7", "", "z"))
	got := <-answered
	wantNames(t, got, "x", "y", "z")
	if got.snapshot.ResourceVersion != "7" {
		t.Errorf("the snapshot is at version %q", got.snapshot.ResourceVersion)
	}
}

// TestLive_ListTakesASlotForEachPage has another caller hold the only slot when a page arrives.
func TestLive_ListTakesASlotForEachPage(t *testing.T) {
	queue := fairqueue.New(fairqueue.Limits{Total: 1})
	_, end, err := fairqueue.Begin(fairqueue.With(t.Context(), queue, "other"))
	must(t, err)
	api := fakeapi.New(t, fakeapi.Core)
	live, err := hubOf(t, api.Config()).Live(pods, http.DefaultClient)
	must(t, err)
	answered := make(chan listing, 1)
	go func() {
		snapshot, _, err := live.List(fairqueue.With(t.Context(), queue, "caller"), Query{}, 1<<20)
		answered <- listing{snapshot, err}
	}()
	api.Next(t, "list").List(t, page("7", "", "x"))
	for !queue.Delays("other") {
		select {
		case got := <-answered:
			t.Fatalf("%d objects were processed without a slot, %v", len(got.snapshot.Objects), got.err)
		case <-time.After(time.Millisecond):
		}
	}
	end()
	wantNames(t, <-answered, "x")
}

func TestLive_ListReadsNamespacesAtOneVersion(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	answered := listLive(t, api, Query{Namespaces: []string{"b", "a", "b"}}, 1<<20)
	first := api.Next(t, "list")
	if first.Request.URL.Path != "/api/v1/namespaces/a/pods" {
		t.Errorf("read %s first", first.Request.URL.Path)
	}
	first.List(t, page("7", "", "x"))
	second := api.Next(t, "list")
	if second.Request.URL.Path != "/api/v1/namespaces/b/pods" {
		t.Errorf("then read %s", second.Request.URL.Path)
	}
	wantQuery(t, second, map[string]string{"resourceVersion": "7", "resourceVersionMatch": "Exact"})
	second.List(t, page("7", ""))
	wantNames(t, <-answered, "x")
}

// TestLive_ListOfARelationIsNotDeniedByItsNamespace is about an authorizer that allows a list over
// all namespaces, and denies the namespace of the relation.
func TestLive_ListOfARelationIsNotDeniedByItsNamespace(t *testing.T) {
	denied := apierrors.NewForbidden(pods.GroupResource(), "", nil).Status()
	related := Related{Namespace: "a", Among: []ObjectName{{Namespace: "a", Name: "one", UID: "u"}}}
	t.Run("all namespaces", func(t *testing.T) {
		api := fakeapi.New(t, fakeapi.Core)
		answered := listLive(t, api, Query{Related: related}, 1<<20)
		narrow := api.Next(t, "list")
		if path := narrow.Request.URL.Path; path != "/api/v1/namespaces/a/pods" {
			t.Errorf("the first list is of %s", path)
		}
		narrow.Refuse(denied)
		wide := api.Next(t, "list")
		if path := wide.Request.URL.Path; path != "/api/v1/pods" {
			t.Errorf("the second list is of %s", path)
		}
		list := page("10", "", "one", "two")
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "one", UID: "v", ResourceVersion: "2"}})
		wide.List(t, list)
		wantNames(t, <-answered, "one")
	})
	for name, query := range map[string]Query{
		"its namespace":   {Namespace: "a", Related: related},
		"some namespaces": {Namespaces: []string{"a", "b"}, Related: related},
	} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t, fakeapi.Core)
			answered := listLive(t, api, query, 1<<20)
			api.Next(t, "list").Refuse(denied)
			if got := <-answered; !apierrors.IsForbidden(got.err) {
				t.Errorf("got %v, want Forbidden", got.err)
			}
		})
	}
}

func TestLive_ListOfNoNamespacesReadsNothing(t *testing.T) {
	wantNames(t, <-listLive(t, fakeapi.New(t, fakeapi.Core), Query{Namespaces: []string{}}, 1<<20))
}

func TestLive_ListRestartsOnceIfItsPagesHaveExpired(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	api := fakeapi.New(t, fakeapi.Core)
	answered := listLive(t, api, Query{}, 1<<20)
	api.Next(t, "list").List(t, page("7", "more", "gone"))
	api.Next(t, "list").Refuse(expired)
	api.Next(t, "list").List(t, page("9", "more", "x"))
	api.Next(t, "list").List(t, page("9", "", "y"))
	wantNames(t, <-answered, "x", "y")

	answered = listLive(t, api, Query{}, 1<<20)
	for range 2 {
		api.Next(t, "list").List(t, page("7", "more", "gone"))
		api.Next(t, "list").Refuse(expired)
	}
	if got := <-answered; !apierrors.IsResourceExpired(got.err) {
		t.Errorf("error %v", got.err)
	}
}

func TestLive_TooLargeListIsAnError(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	answered := listLive(t, api, Query{}, 1000)
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint(i))
	}
	api.Next(t, "list").List(t, page("7", "more", names...))
	if got := <-answered; !apierrors.IsRequestEntityTooLargeError(got.err) {
		t.Errorf("error %v", got.err)
	}
}

// TestLive_DoesNotRetry leaves the decision to wait and retry to the caller.
func TestLive_DoesNotRetry(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	answered := listLive(t, api, Query{}, 1000)
	c := api.Next(t, "list")
	c.Do(func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1") })
	c.Refuse(apierrors.NewTooManyRequests("later", 7).ErrStatus)
	got := <-answered
	if seconds, ok := apierrors.SuggestsClientDelay(got.err); !ok || seconds != 7 {
		t.Errorf("error %v, with a retry time of %d s", got.err, seconds)
	}
}

// TestLive_MetadataOnlyRequestsOnlyMetadata has the API server send only metadata.
func TestLive_MetadataOnlyRequestsOnlyMetadata(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	live, err := hubOf(t, api.Config()).Live(pods, http.DefaultClient)
	must(t, err)
	answered := make(chan listing, 1)
	go func() {
		snapshot, _, err := live.MetadataOnly().List(t.Context(), Query{}, 1<<20)
		answered <- listing{snapshot, err}
	}()
	c := api.Next(t, "list")
	if got, want := c.Request.Header.Get("Accept"), "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;drop=metadata.managedFields,"; !strings.HasPrefix(got, want) {
		t.Errorf("the request accepts %q", got)
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", ResourceVersion: "1"}}}
	message, err := list.Marshal()
	must(t, err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Raw: message}
	body, err := unknown.Marshal()
	must(t, err)
	c.Do(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(append([]byte("k8s\x00"), body...))
	})
	c.End()
	got := <-answered
	wantNames(t, got, "x")
	if of := got.snapshot.Objects[0].Kind().Kind; of != "Pod" {
		t.Errorf("the object is read as a %s", of)
	}
}
