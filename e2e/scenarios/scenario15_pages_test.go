package scenarios_test

import (
	"slices"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// TestScenario15_PagesAndCountsFollowTheLifeOfADefinition watches a page and counts of a resource
// whose definition changes its versions, is deleted, and is created again.
func TestScenario15_PagesAndCountsFollowTheLifeOfADefinition(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	kit.UntilListed(ctx, t, client, gadgets)
	pages, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: gadgets.Name(), Namespace: namespace, Limit: 2, OrderBy: "spec.color"}))
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	counts, err := responses.Of(client.WatchCounts(ctx, &kubeconnectv1.WatchCountsRequest{Resource: gadgets.Name(), Namespace: namespace, GroupBy: []string{"apiVersion"}}))
	if err != nil {
		t.Fatal(err)
	}
	defer counts.Close()
	page, held, kind := &validate.Page{}, &validate.Counts{}, &kubeconnectv1.Resource{}
	// untilShown blocks until the page and the counts are those of these objects in an API version.
	untilShown := func(version string, total int64, names ...string) (ended bool) {
		t.Helper()
		for page.State.GetTotalCount() != total || kind.GetVersion() != version || !page.Synced || !slices.Equal(kit.NamesOf(page.Objects), names) || !allInVersion(page, kind) {
			if !pages.Receive() {
				return true
			}
			response := validate.ResponseOf(pages.Msg())
			if problems := page.Read(&response); len(problems) > 0 {
				t.Errorf("with %v: %q", names, problems)
			}
			if response.Kind != nil {
				kind = response.Kind
			}
		}
		for held.Last == nil || held.Last.GetTotalCount() != total || total > 0 && held.Groups[`["`+gadgets.Group+"/"+version+`"]`].GetCount() != total {
			if !counts.Receive() {
				return true
			}
			if problem := held.Apply(counts.Msg()); problem != "" {
				t.Errorf("with %v: %s", names, problem)
			}
		}
		return false
	}
	wantShown := func(version string, total int64, names ...string) {
		t.Helper()
		if untilShown(version, total, names...) {
			t.Fatalf("with %d objects a stream ended: %v, %v", total, pages.Err(), counts.Err())
		}
	}
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	wantShown("v1", 1, "one")
	gadgets.Serve([]string{"v1", "v2"}, nil)
	gadgets.Create("v2", namespace, "two", map[string]any{"color": "green"})
	gadgets.Serve([]string{"v2"}, []string{"v1"})
	gadgets.Create("v2", namespace, "three", map[string]any{"color": "blue"})
	wantShown("v2", 3, "three", "two")
	gadgets.Remove()
	if !untilShown("v2", 0) {
		gadgets.Define("v2")
		gadgets.Create("v2", namespace, "four", map[string]any{"color": "red"})
		if !untilShown("v2", 1, "four") {
			return
		}
	}
	for _, err := range []error{pages.Err(), counts.Err()} { // a stream whose resource was deleted may end
		if err != nil {
			kit.WantError(t, err, connect.CodeNotFound)
		}
	}
}

// allInVersion reports whether the objects of a page are in the API version of a kind.
func allInVersion(page *validate.Page, kind *kubeconnectv1.Resource) bool {
	return !slices.ContainsFunc(page.Objects, func(object *kubeconnectv1.Object) bool {
		return object.GetStruct().GetFields()["apiVersion"].GetStringValue() != kind.GetGroup()+"/"+kind.GetVersion()
	})
}
