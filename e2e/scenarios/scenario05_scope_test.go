package scenarios_test

import (
	"slices"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario05_WatchCoversANameANamespaceOrEverything(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), watchesOfEveryScope)
}

func watchesOfEveryScope(t *testing.T, client kit.ResourceClient) {
	ctx := kit.Deadline(t)
	here, existing := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	writeHere, writeThere := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), here), kit.ConfigMapsIn(ctx, t, kit.Cluster(t), existing)
	before := writeHere.Create("before", nil)
	kit.UntilRead(ctx, t, client, "configmaps", before)

	watch := func(request *kubeconnectv1.WatchRequest) *record.Stream {
		request.Resource = "configmaps"
		stream := record.Watch(t, client, request)
		stream.Synced(ctx)
		return stream
	}
	oneName := watch(&kubeconnectv1.WatchRequest{Namespace: here, Name: "one"})
	knownName := watch(&kubeconnectv1.WatchRequest{Namespace: here, Name: "before"})
	namespace := watch(&kubeconnectv1.WatchRequest{Namespace: here})
	everything := watch(&kubeconnectv1.WatchRequest{})

	one := writeHere.Create("one", nil)
	two := writeHere.Create("two", nil)
	oneThere := writeThere.Create("one", nil)
	beforeTouched := writeHere.Touch("before", "touched")
	oneTouched := writeHere.Touch("one", "touched")
	writeHere.Delete("one")
	writeThere.Delete("one")
	last := writeThere.Create("last", nil)

	kit.WantChanges(t, oneName.Reaches(ctx, last.ResourceVersion), kit.Added(one), kit.Modified(oneTouched), kit.Deleted(oneTouched))
	kit.WantChanges(t, knownName.Reaches(ctx, last.ResourceVersion), kit.Modified(beforeTouched))
	kit.WantChanges(t, namespace.Reaches(ctx, last.ResourceVersion),
		kit.Added(one), kit.Added(two), kit.Modified(beforeTouched), kit.Modified(oneTouched), kit.Deleted(oneTouched))
	wantChangesIn(t, []string{here, existing}, everything.Reaches(ctx, last.ResourceVersion),
		kit.Added(one), kit.Added(two), kit.Added(oneThere), kit.Modified(beforeTouched), kit.Modified(oneTouched),
		kit.Deleted(oneTouched), kit.Deleted(oneThere), kit.Added(last))

	kit.WantSnapshot(t, oneName)
	kit.WantSnapshot(t, knownName, kit.Added(before))
}

// wantChangesIn is kit.WantChanges for a stream that also receives changes in the namespaces of other
// tests.
func wantChangesIn(t *testing.T, namespaces []string, view record.View, want ...string) {
	t.Helper()
	view.Events = slices.DeleteFunc(slices.Clone(view.Events), func(event *kubeconnectv1.Event) bool {
		return event.GetObject() != nil && !slices.Contains(namespaces, event.GetObject().GetNamespace())
	})
	kit.WantChanges(t, view, want...)
}

func TestScenario05_ClusterScopedWatchOmitsOtherObjects(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	one, other := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	client := kit.NewClient(t, kit.Cluster(t))
	kit.UntilRead(ctx, t, client, "namespaces", labelNamespace(ctx, t, one, "seen"))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "namespaces", Name: one})
	stream.Synced(ctx)

	labelNamespace(ctx, t, other, "labelled")
	labelled := labelNamespace(ctx, t, one, "labelled")

	view := stream.Reaches(ctx, labelled.ResourceVersion)
	kit.WantChanges(t, view, kit.Modified(labelled))
	for _, line := range record.Lines(record.Changes(view.Events)) {
		if strings.Contains(line, other) {
			t.Errorf("the watch received another object: %s", line)
		}
	}
}
