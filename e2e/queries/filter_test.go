package queries_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

func TestFilter_ListReturnsMatchingObjects(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		kit.CreateUnscheduledPod(ctx, t, namespace, "first")
		kit.UntilRead(ctx, t, client, "pods", kit.CreateUnscheduledPod(ctx, t, namespace, "second"))
		for filter, want := range map[string][]string{
			`object.metadata.name == 'first'`:                                              {"first"},
			`object.status.phase == 'Pending' && object.spec.schedulerName == 'nobody'`:    {"first", "second"},
			`object.spec.containers.exists(c, c.image.endsWith(':1') && c.name == 'main')`: {"first", "second"},
			`has(object.spec.nodeName)`:                                                    nil,
			`object.kind == 'Pod' && object.metadata.name.matches('^se')`:                  {"second"},
			`object.?spec.?nodeName.orValue('none') == 'none'`:                             {"first", "second"},
		} {
			list := listBy(ctx, t, client, namespace, "pods", filter)
			if got := kit.NamesOf(list.GetObjects()); !slices.Equal(got, want) || len(list.GetWarnings()) > 0 {
				t.Errorf("%s: %q, want %q; warnings %q", filter, got, want, list.GetWarnings())
			}
		}
		misspelt := listBy(ctx, t, client, namespace, "pods", `object.spec.replicsa > 3`)
		want := "the filter has no value for 2 of 2 objects, which are left out: no such key: replicsa (" + namespace + "/first, …)"
		if got := misspelt.GetWarnings(); len(misspelt.GetObjects()) > 0 || !slices.Equal(got, []string{want}) {
			t.Errorf("%d objects, warnings %q, want %q", len(misspelt.GetObjects()), got, want)
		}
	})
}

func listBy(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace, resource, filter string) *kubeconnectv1.ListResponse {
	t.Helper()
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace, Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFilter_LatestListIsFilteredInPages also reads pages of one object.
func TestFilter_LatestListIsFilteredInPages(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	for _, name := range []string{"a", "b", "c", "d"} {
		write.Create(name, kit.Labels{"app": name})
	}
	request := &kubeconnectv1.ListRequest{
		Resource: "configmaps", Namespace: namespace, PageSize: 1,
		Filter: `object.metadata.labels['app'] in ['b', 'd']`, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST,
	}
	var got []string
	for {
		page, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, kit.NamesOf(page.GetObjects())...)
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			break
		}
	}
	// The default ConfigMap of a namespace, kube-root-ca.crt, has no labels.
	if want := []string{"b", "d"}; !slices.Equal(got, want) {
		t.Errorf("the pages contain %q, want %q", got, want)
	}
}

func TestFilter_TransitionsAreAddedAndDeleted(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		held := write.Create("one", kit.Labels{"app": "web"})
		kit.UntilRead(ctx, t, client, "configmaps", held)
		request := &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace,
			Filter: `object.metadata.labels['app'] == 'web' && object.data.key != 'hidden'`,
		}
		stream := record.Watch(t, client, request)
		point := kit.LastPoint(t, stream.Synced(ctx))
		kit.WantSnapshot(t, stream, kit.Added(held))
		left := write.Relabel("one", map[string]any{"app": nil})
		write.Touch("one", "unseen")
		back := write.Relabel("one", map[string]any{"app": "web"})
		changed := write.Touch("one", "changed")
		write.Touch("one", "hidden")
		last := write.Create("last", kit.Labels{"app": "web"})

		view := stream.Reaches(ctx, last.ResourceVersion)
		want := []string{kit.Deleted(held), kit.Added(back), kit.Modified(changed), kit.Deleted(changed), kit.Added(last)}
		kit.WantChanges(t, view, want...)
		kit.WantEventVersion(t, view, 0, left.ResourceVersion)

		resumed := record.Resume(t, client, request, point)
		kit.WantChanges(t, resumed.Reaches(ctx, last.ResourceVersion), want...)
	})
}

func TestFilter_WatchesACustomResource(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	red := gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilRead(ctx, t, client, gadgets.Name(), red)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: gadgets.Name(), Namespace: namespace, Filter: `has(object.spec.color) && object.spec.color == 'red'`,
	})
	stream.Synced(ctx)
	kit.WantSnapshot(t, stream, kit.Added(red))

	blue := gadgets.Recolor(red, "blue")
	gadgets.Create("v1", namespace, "two", nil)
	back := gadgets.Recolor(blue, "red")

	kit.WantChanges(t, stream.Reaches(ctx, back.GetResourceVersion()), kit.Deleted(red), kit.Added(back))
}

func TestFilter_ResumeTokenNeedsTheSameFilter(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: kit.NewNamespace(ctx, t, kit.Cluster(t)), Filter: "true"}
	request.ResumeToken = kit.LastPoint(t, record.Watch(t, client, request).Synced(ctx)).Token
	request.Filter = "1 == 1"
	kit.WantError(t, kit.WatchError(ctx, client, request), connect.CodeInvalidArgument, "another watch")
}

// hostileFilters are meant to be as expensive as possible.
var hostileFilters = map[string]string{
	"deep":             strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000),
	"huge":             "'" + strings.Repeat("x", 16<<10) + "' == object.kind",
	"a large pattern":  "object.kind.matches('" + strings.Repeat("(a{1000}|b{1000})", 900) + "')",
	"copies of copies": "object.?a" + strings.Repeat(".optMap(x, x)", 30) + ".orValue(1) == 1",
	"no condition":     "object.kind + 'x' == 1 ? 'a' : 'b'",
	"malformed":        strings.Repeat("a ", 8000),
	"an unknown name":  "objekt.kind == 'Pod'",
}

// costlyFilters are too expensive to evaluate for any object, and so match none.
var costlyFilters = map[string]string{
	"strings that double": "[object.kind]" + strings.Repeat(".map(x, x + x)", 60) + ".all(x, x == x)",
	"lists that double":   "[[object.kind]]" + strings.Repeat(".map(x, x + x)", 40) + ".all(x, x == x)",
	"lists of lists":      "[[object.kind]]" + strings.Repeat(".map(x, [x, x])", 40) + ".all(x, '%s'.format([x]) == '')",
	"types that double":   "[object.kind]" + strings.Repeat(".map(x, {x: x})", 40) + ".all(x, x == x)",
	"loops in loops":      "lists.range(99).all(a, lists.range(99).all(b, lists.range(99).all(c, a + b + c >= 0)))",
	"a large exponent":    "quantity('1e999999999').isGreaterThan(quantity('1'))",
	"a computed pattern":  "[('a{1000}|' + object.kind)]" + strings.Repeat(".map(x, x + x)", 9) + ".all(p, 'aaa'.matches(p))",
}

func TestFilter_HostileExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		kit.UntilRead(ctx, t, client, "configmaps", kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil))
		for name, filter := range hostileFilters {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, Filter: filter})
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "filter: ") {
				t.Errorf("%s: List returns %v", name, err)
			}
			err = kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Filter: filter})
			if connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("%s: Watch returns %v", name, err)
			}
		}
		for name, filter := range costlyFilters {
			list := listBy(ctx, t, client, namespace, "configmaps", filter)
			if len(list.GetObjects()) > 0 || len(list.GetWarnings()) != 1 {
				t.Errorf("%s: %d objects, warnings %q", name, len(list.GetObjects()), list.GetWarnings())
			}
		}
	})
}

// TestFilter_SeesOnlyObjectsThatTheCallerMayRead lists over all namespaces with filters that could
// reveal an object in a namespace without permission: because it matches, or by a warning.
func TestFilter_SeesOnlyObjectsThatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	mine, other := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.RbacAccount{Account: kit.NewAccount(ctx, t, mine, "reader"), Resource: "configmaps"}
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), mine).Create("seen", nil)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), other).Create("secret", nil)
	caller.Grant(mine)
	client := caller.Calling(service, harness.Protocols[0]).Resources
	kit.Eventually(ctx, t, "one namespace is listed", func() error { return kit.ListsNamespaces(ctx, client, mine) })

	for _, filter := range []string{"true", "object.metadata.name == 'secret'", "object.nonsense == 1"} {
		list := listBy(ctx, t, client, "", "configmaps", filter)
		if namespaces := kit.NamespacesOf(list.GetObjects()); slices.Contains(namespaces, other) {
			t.Errorf("%s: namespaces %q", filter, namespaces)
		}
		if warnings := strings.Join(list.GetWarnings(), " "); strings.Contains(warnings, other) || strings.Contains(warnings, "secret") {
			t.Errorf("%s: warnings %q", filter, warnings)
		}
	}
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Filter: "has(object.data)"})
	kit.WantHeld(t, stream.Synced(ctx), mine)
}

// TestFilter_WatchWarnsOfObjectsWithoutAValue has one such object in the snapshot, and one that
// becomes such an object by a change.
func TestFilter_WatchWarnsOfObjectsWithoutAValue(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		write.Create("one", kit.Labels{"app": "web"})
		kit.UntilRead(ctx, t, client, "configmaps", write.Create("two", nil))
		stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, FieldSelector: "metadata.name!=kube-root-ca.crt", Filter: `object.metadata.labels['app'] == 'web'`,
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Close() }()
		until := func(want string) {
			t.Helper()
			for stream.Receive() {
				if got := stream.Msg().GetWarnings(); len(got) > 0 {
					if !slices.Equal(got, []string{want}) {
						t.Fatalf("warning %q, want %q", got, want)
					}
					return
				}
			}
			t.Fatal(stream.Err())
		}
		until("the filter has no value for 1 of 2 objects, which are left out: no such key: labels (" + namespace + "/two)")
		write.Relabel("one", map[string]any{"app": nil})
		until("the filter has no value for 1 of 1 objects, which are left out: no such key: labels (" + namespace + "/one)")
	})
}
