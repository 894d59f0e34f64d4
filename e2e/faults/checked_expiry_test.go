package faults_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// "A replica that does not remember it asks the API server for exactly that version. OUT_OF_RANGE
// with reason "Expired" means: list again from the first page."
func TestChecked_PagesBehindTheWindowAreReadUntilCompaction(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for _, of := range []struct {
		name    string
		in      *harness.Cluster
		forgets bool
	}{{"remembered", kit.Cluster(t), false}, {"forgotten", kit.CompactingCluster(t), true}} {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, of.in)
			write := kit.ConfigMapsIn(ctx, t, of.in, namespace)
			last := ""
			for i := range 4 {
				last = write.Create(fmt.Sprint("c-", i), kit.Labels{"app": "web"}).ResourceVersion
			}
			clients := kit.NewReplicas(t, of.in, 2)
			requests := map[string]*kubeconnectv1.ListRequest{
				"plain":  {},
				"filter": {Filter: "object.metadata.name != 'x'"},
				"order":  {OrderBy: "metadata.name"},
				"latest": {Consistency: kit.Latest},
			}
			for name, request := range requests {
				request.Resource, request.Namespace, request.LabelSelector, request.PageSize = "configmaps", namespace, "app=web", 1
				if name != "latest" {
					request.MinResourceVersion = last
				}
				for _, client := range clients[1:] { // warm
					if name == "latest" {
						continue // it would keep a list of its own
					}
					if _, err := client.List(ctx, request); err != nil {
						t.Fatal(err)
					}
				}
				page, err := clients[0].List(ctx, request)
				if err != nil {
					t.Fatal(err)
				}
				request.PageToken = page.GetNextPageToken()
				request.PageSize = 0
			}
			write.Delete("c-2")
			write.Create("c-2", kit.Labels{"app": "web"})
			kit.ExceedWindow(ctx, t, clients[0], write)
			pushed := write.Touch("pushes-out", "last")
			kit.UntilRead(ctx, t, clients[1], "configmaps", pushed)
			if of.forgets {
				kit.UntilCompacted(ctx, t, of.in, last)
			}
			for name, request := range requests {
				for i, client := range append(clients[1:], kit.NewReplicas(t, of.in, 1)[0]) {
					page, err := client.List(ctx, request)
					switch {
					case of.forgets:
						kit.WantExpiredPage(t, page, err)
					case err != nil:
						t.Errorf("%s, replica %d: %v with status %v", name, i, err, kit.StatusIn(err))
					case !slices.Equal(kit.NamesOf(page.GetObjects()), []string{"c-1", "c-2", "c-3"}):
						t.Errorf("%s, replica %d: %v", name, i, kit.NamesOf(page.GetObjects()))
					}
				}
			}
		})
	}
}

// A list of the latest state is kept for 30 seconds after its last page, and read again after that.
func TestChecked_PagesOfEvictedLatestListsContinue(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 3*kit.WaitTimeout)
	s := kit.NewPodSet(ctx, t, 6)
	clients := kit.NewReplicas(t, kit.Cluster(t), 1)
	uncached := kit.NewReplicas(t, kit.Cluster(t), 1, "--uncached", "pods")
	requests := map[*kubeconnectv1.ListRequest]kit.ResourceClient{}
	for _, order := range []string{"", "metadata.name desc"} {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", Consistency: kit.Latest, PageSize: 2, OrderBy: order}
		requests[request] = clients[0]
		request = &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 2, OrderBy: order}
		requests[request] = uncached[0]
	}
	for request, client := range requests {
		page, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		request.PageToken, request.PageSize = page.GetNextPageToken(), 0
	}
	s.Delete("p-03")
	s.Create("p-04a", kit.Labels{"app": "web"})
	time.Sleep(40 * time.Second)
	for request, client := range requests {
		page, err := client.List(ctx, request)
		want := []string{"p-02", "p-03", "p-04", "p-05"}
		if request.GetOrderBy() != "" {
			want = []string{"p-03", "p-02", "p-01", "p-00"}
		}
		if err != nil || !slices.Equal(kit.NamesOf(page.GetObjects()), want) {
			t.Errorf("%v: %v, %v", request, kit.NamesOf(page.GetObjects()), err)
		}
	}
}

// "or the resource is served in another version": of a custom resource. Of one that was recreated, a
// page is of the state at the list's version, or expires.
func TestChecked_PagesOfAChangedDefinitionNeverMixObjects(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	in := kit.Cluster(t)
	for name, change := range map[string]func(kit.CustomResource, string){
		"another version": func(g kit.CustomResource, _ string) { g.Serve([]string{"v2"}, []string{"v1"}) },
		"recreated": func(g kit.CustomResource, namespace string) {
			g.Remove()
			g.Define("v1")
			for i := range 4 {
				kit.CreateGadget(g.T, g, namespace, fmt.Sprint("new-", i), map[string]any{}, "")
			}
		},
		"gone": func(g kit.CustomResource, _ string) { g.Remove() },
	} {
		for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
			t.Run(fmt.Sprint(name, consistency), func(t *testing.T) {
				t.Parallel()
				ctx := kit.Deadline(t)
				namespace := kit.NewNamespace(ctx, t, in)
				gadgets := kit.NewCustomResource(ctx, t, in, namespace)
				gadgets.Define("v1")
				uids := map[string]bool{}
				for i := range 4 {
					uids[string(kit.CreateGadget(t, gadgets, namespace, fmt.Sprint("old-", i), map[string]any{}, "").GetUID())] = true
				}
				clients := kit.NewReplicas(t, in, 2)
				request := &kubeconnectv1.ListRequest{Resource: gadgets.Name(), Namespace: namespace, PageSize: 1, Consistency: consistency}
				var page *kubeconnectv1.ListResponse
				kit.Eventually(ctx, t, "all are read", func() (err error) {
					if page, err = clients[0].List(ctx, request); err == nil && page.GetRemainingItemCount() != 3 {
						err = fmt.Errorf("%d remain", page.GetRemainingItemCount())
					}
					return err
				})
				change(gadgets, namespace)
				time.Sleep(5 * time.Second)
				request.PageToken = page.GetNextPageToken()
				for i, client := range clients {
					page, err := client.List(ctx, request)
					for _, object := range page.GetObjects() {
						if !uids[object.GetUid()] {
							t.Errorf("replica %d: a page has %s, which is of another list", i, object.GetName())
						}
					}
					t.Logf("replica %d: %v, %v", i, kit.NamesOf(page.GetObjects()), err)
					switch {
					case kit.IsExpired(err), name == "gone" && connect.CodeOf(err) == connect.CodeNotFound, name == "recreated" && err == nil:
					case consistency == kit.Latest && i == 0 && err == nil: // "the others continue in it"
					default:
						t.Errorf("replica %d: %v %v, %v with status %v", i, page.GetResource(), kit.NamesOf(page.GetObjects()), err, kit.StatusIn(err))
					}
				}
			})
		}
	}
}

// "A replica that has not reached that version waits for it." One that cannot says so in time, and
// one that has lost the API server says that it is stale, and answers what it remembers.
func TestChecked_PagesWithoutTheAPIServerAreStaleOrFail(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	s := kit.NewPodSet(ctx, t, 4)
	clients := kit.NewReplicas(t, kit.Cluster(t), 1)
	lost, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", MinResourceVersion: s.Last, PageSize: 1}
	for _, client := range append(clients, lost) {
		if _, err := client.List(ctx, request); err != nil {
			t.Fatal(err)
		}
	}
	before, err := clients[0].List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	request.PageToken = before.GetNextPageToken()
	if _, err := lost.List(ctx, request); err != nil { // it has reached the version
		t.Fatal(err)
	}
	link.Set(harness.Refused)
	s.Delete("p-02")
	now, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 1, Consistency: kit.Latest})
	if err != nil {
		t.Fatal(err)
	}
	newer := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 1}
	kit.Eventually(ctx, t, "the first page has the newer version", func() error {
		page, err := clients[0].List(ctx, newer)
		if err == nil && !slices.Contains([]string{now.GetResourceVersion()}, page.GetResourceVersion()) && !kit.IsNewer(t, page.GetResourceVersion(), before.GetResourceVersion()) {
			return fmt.Errorf("%s", page.GetResourceVersion())
		}
		newer.PageToken = page.GetNextPageToken()
		return err
	})
	newer.PageSize = 1
	began := time.Now()
	page, err := lost.List(ctx, newer)
	if err == nil {
		t.Errorf("a replica that cannot have reached the version answers %v", kit.NamesOf(page.GetObjects()))
	} else {
		t.Logf("behind, after %v: %v with status %v", time.Since(began), err, kit.StatusIn(err))
		if code := connect.CodeOf(err); code != connect.CodeDeadlineExceeded && code != connect.CodeUnavailable {
			t.Errorf("the code is %v", code)
		}
	}
	kit.Eventually(ctx, t, "a page is said to be stale", func() error {
		page, err := lost.List(ctx, request)
		if err != nil {
			return err
		}
		if got := kit.NamesOf(page.GetObjects()); !slices.Equal(got, []string{"p-01"}) {
			t.Errorf("the second page has %v", got)
		}
		if !page.GetFreshness().GetStale() {
			return fmt.Errorf("it says %v", page.GetFreshness())
		}
		return nil
	})
}

// Tokens of a table expire: "OUT_OF_RANGE".
func TestChecked_TableTokenExpires(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.CompactingCluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	write := kit.ConfigMapsIn(ctx, t, in, namespace)
	last := ""
	for i := range 4 {
		last = write.Create(fmt.Sprint("c-", i), kit.Labels{"app": "web"}).ResourceVersion
	}
	clients := kit.NewReplicas(t, in, 1)
	request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web", PageSize: 1}
	page, err := clients[0].GetTable(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		write.Touch("c-0", fmt.Sprint(i))
	}
	kit.UntilCompacted(ctx, t, in, last)
	request.PageToken = page.GetNextPageToken()
	kit.Eventually(ctx, t, "the token expires", func() error {
		_, err := clients[0].GetTable(ctx, request)
		return kit.HasCode(err, connect.CodeOutOfRange)
	})
	_, err = clients[0].GetTable(ctx, request)
	kit.WantStatus(t, err, "Expired")
}

// A table: pages of exactly the last row, pages at one version, refused sizes, an object by its name.
func TestChecked_PagesOfATableAreOfOneVersion(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 4)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	request := func(size int32, token string) *kubeconnectv1.GetTableRequest {
		return &kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: size, PageToken: token}
	}
	whole, err := clients[0].GetTable(ctx, request(0, ""))
	if err != nil || len(whole.GetRows()) != 4 || whole.GetNextPageToken() != "" || whole.GetRemainingItemCount() != 0 || whole.GetResourceVersion() == "" {
		t.Fatalf("%v, %v", whole, err)
	}
	for _, row := range whole.GetRows() {
		if len(row.GetCells()) != len(whole.GetColumns()) {
			t.Errorf("%d cells of %d columns", len(row.GetCells()), len(whole.GetColumns()))
		}
	}
	exactly, err := clients[0].GetTable(ctx, request(4, ""))
	if err != nil || len(exactly.GetRows()) != 4 || exactly.GetNextPageToken() != "" {
		t.Errorf("a page of exactly all: %v, %v", exactly, err)
	}
	first, err := clients[0].GetTable(ctx, request(2, ""))
	if err != nil || len(first.GetRows()) != 2 || first.GetNextPageToken() == "" {
		t.Fatalf("%v, %v", first, err)
	}
	s.Delete("p-02")
	s.Create("p-01a", kit.Labels{"app": "web"})
	s.Relabel("p-03", `{"app":"db"}`)
	second, err := clients[1].GetTable(ctx, request(2, first.GetNextPageToken()))
	if err != nil || second.GetResourceVersion() != first.GetResourceVersion() || second.GetNextPageToken() != "" || len(second.GetRows()) != 2 || second.GetRows()[0].GetName() != "p-02" || second.GetRows()[1].GetName() != "p-03" || len(second.GetColumns()) == 0 {
		t.Errorf("the second page: %v, %v", second, err)
	}
	_, err = clients[0].GetTable(ctx, request(-1, ""))
	kit.WantError(t, err, connect.CodeInvalidArgument)
	_, err = clients[0].GetTable(ctx, request(2, "invalid"))
	if code := connect.CodeOf(err); code != connect.CodeInvalidArgument && code != connect.CodeOutOfRange {
		t.Errorf("an invalid token: %v", err)
	}
	_, err = clients[0].GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: s.Namespace, Name: "none"})
	kit.WantError(t, err, connect.CodeNotFound)
	one, err := clients[0].GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: s.Namespace, Name: "p-01", PageSize: 1})
	if err != nil || len(one.GetRows()) != 1 || one.GetRows()[0].GetName() != "p-01" || one.GetRows()[0].GetResourceVersion() == "" {
		t.Errorf("one: %v, %v", one, err)
	}
	empty, err := clients[0].GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: "there-is-none", PageSize: 1})
	if err != nil || len(empty.GetRows()) != 0 || len(empty.GetColumns()) == 0 || empty.GetResource().GetKind() != "Pod" {
		t.Errorf("an empty table: %v, %v", empty, err)
	}
	big, err := clients[0].GetTable(ctx, request(501, ""))
	t.Logf("page_size 501: %d rows, %v", len(big.GetRows()), err)
	other := request(2, first.GetNextPageToken())
	other.LabelSelector = "app=db"
	answer, err := clients[0].GetTable(ctx, other)
	t.Logf("a token with another selector: %v, %v", answer.GetRows(), err)
	other = request(2, first.GetNextPageToken())
	other.Namespace = "default"
	answer, err = clients[0].GetTable(ctx, other)
	t.Logf("a token with another namespace: %v, %v", answer.GetRows(), err)
}

// "A page of several rows that is larger than about 3 MiB is RESOURCE_EXHAUSTED: ask for fewer."
// "How many rows a page may have. Default (0) and most: 500."
func TestChecked_TablePagesHaveAtMost500Rows(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	write := kit.ConfigMapsIn(ctx, t, in, namespace)
	for i := range 501 {
		write.Create(fmt.Sprintf("c-%03d", i), kit.Labels{"app": "web"})
	}
	client := kit.NewReplicas(t, in, 1)[0]
	request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web"}
	first, err := client.GetTable(ctx, request)
	if err != nil || len(first.GetRows()) != 500 || first.GetNextPageToken() == "" {
		t.Fatalf("%d rows, token %q, %v", len(first.GetRows()), first.GetNextPageToken(), err)
	}
	request.PageToken = first.GetNextPageToken()
	write.Delete("c-500")
	second, err := client.GetTable(ctx, request)
	if err != nil || len(second.GetRows()) != 1 || second.GetNextPageToken() != "" {
		t.Errorf("%d rows, token %q, %v", len(second.GetRows()), second.GetNextPageToken(), err)
	}
	t.Logf("%d remain after the first page", first.GetRemainingItemCount())
}

// "in order of namespace and name" at a version, and a count of the same version.
func TestChecked_CountsMatchTheirVersion(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 12)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	for i := range 10 {
		s.Delete(fmt.Sprintf("p-%02d", i))
		s.Create(fmt.Sprintf("n-%02d", i), kit.Labels{"app": "web", "rank": fmt.Sprint(i % 2)})
		for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
			request := &kubeconnectv1.CountRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", GroupBy: []string{"metadata.labels.rank"}, Consistency: consistency}
			if consistency != kit.Latest {
				request.MinResourceVersion = s.Last
			}
			count, err := clients[i%2].Count(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			exact, err := kit.Cluster(t).Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web", ResourceVersion: count.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, group := range count.GetGroups() {
				sum += group.GetCount()
			}
			if count.GetTotalCount() != int64(len(exact.Items)) || sum != count.GetTotalCount() {
				t.Errorf("%v at %s: %d in all, %d in groups, the API server has %d", consistency, count.GetResourceVersion(), count.GetTotalCount(), sum, len(exact.Items))
			}
		}
	}
}
