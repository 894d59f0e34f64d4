package reads

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// TestList_PagesReportRemainingObjectsAndNextToken encodes pages of so small objects that all of
// those that were looked up fit in one.
func TestList_PagesReportRemainingObjectsAndNextToken(t *testing.T) {
	r := &Lists{cache: newListCache(observe.NewMetrics())}
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
			list := &pagedList{Result: Result{Snapshot: objecttest.PodSnapshot(t, 3)}, token: tokens.Page{Left: test.left}, first: test.whole, complete: test.whole, more: test.more}
			page, err := r.page(servertest.CalledBy(t.Context(), "jane"), list, listParams{view: encode.View{Encoding: kubeconnectv1.Encoding_ENCODING_JSON, Messages: true}})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.GetObjects()) != 3 || page.GetRemainingItemCount() != test.remaining || (page.GetNextPageToken() == "") != test.last {
				t.Errorf("the page has %d objects, %d remain, and the next token is %q", len(page.GetObjects()), page.GetRemainingItemCount(), page.GetNextPageToken())
			}
		})
	}
}

// TestList_ThatCannotBeKeptExpires reads two lists of the API server alternately, page by page,
// with memory for one.
func TestList_ThatCannotBeKeptExpires(t *testing.T) {
	api := servertest.ManyPodsAPI(20, "100")
	for _, object := range api.Objects {
		object.(*corev1.Pod).Annotations = map[string]string{"a": strings.Repeat("x", 10<<10)}
	}
	var lists atomic.Int32
	all := servertest.ListsByNamespace(api)
	api.List = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lists.Add(1)
		all.ServeHTTP(w, r)
	})
	r := readsOn(t, api)
	// A caller can use half of it, and a list has 270 KiB.
	r.Lists.cache.memory = fairqueue.New(fairqueue.Limits{Total: 700 << 10})
	walk := func(request *kubeconnectv1.ListRequest) error {
		page, err := r.Lists.List(servertest.CalledBy(t.Context(), "jane"), request)
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
	if err := walk(other); connect.CodeOf(callerrors.ConnectError(err)) != connect.CodeOutOfRange {
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

// readsOn returns handlers of reads without connections, of the kubeconfig's user.
func readsOn(t *testing.T, api http.Handler) *Reads {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	hub := servertest.HubOf(t, api)
	clients, err := auth.NewClientFactory(&rest.Config{Host: upstream.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	permissions := access.NewPermissions(servertest.NewFakeRights(auth.Namespaces{All: true}), nil)
	return New(Config{Hub: hub, Targets: target.NewResolver(hub), Permissions: permissions, Clients: clients, Metrics: observe.NewMetrics()})
}
