package scenarios_test

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario01_EachWatcherGetsExactlyItsOwnEvents(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), eachWatcherGetsItsOwn)
}

func eachWatcherGetsItsOwn(t *testing.T, client kit.ResourceClient) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	watch := func(selector string) *record.Stream {
		stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, LabelSelector: selector,
		})
		stream.Synced(ctx)
		return stream
	}
	a, b, either := watch("app=a"), watch("app=b"), watch("app in (a,b)")

	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	one := write.Create("one", kit.Labels{"app": "a"})
	two := write.Create("two", kit.Labels{"app": "b"})
	write.Create("three", kit.Labels{"app": "c"})
	oneTouched := write.Touch("one", "touched")
	twoTouched := write.Touch("two", "touched")
	write.Touch("three", "touched")
	oneMoved := write.Relabel("one", map[string]any{"app": "b"})
	threeMoved := write.Relabel("three", map[string]any{"app": "a"})
	write.Delete("two")
	last := write.Create("last", nil)

	kit.WantChanges(t, a.Reaches(ctx, last.ResourceVersion),
		kit.Added(one), kit.Modified(oneTouched), kit.Deleted(oneTouched), kit.Added(threeMoved))
	kit.WantChanges(t, b.Reaches(ctx, last.ResourceVersion),
		kit.Added(two), kit.Modified(twoTouched), kit.Added(oneMoved), kit.Deleted(twoTouched))
	kit.WantChanges(t, either.Reaches(ctx, last.ResourceVersion),
		kit.Added(one), kit.Added(two), kit.Modified(oneTouched), kit.Modified(twoTouched),
		kit.Modified(oneMoved), kit.Added(threeMoved), kit.Deleted(twoTouched))
}
