package e2e_test

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario01_EachWatcherGetsExactlyItsOwnEvents(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), eachWatcherGetsItsOwn)
}

func eachWatcherGetsItsOwn(t *testing.T, client resourceClient) {
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	watch := func(selector string) *record.Stream {
		stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, LabelSelector: selector,
		})
		stream.Synced(ctx)
		return stream
	}
	a, b, either := watch("app=a"), watch("app=b"), watch("app in (a,b)")

	write := configMapsIn(ctx, t, cluster(t), namespace)
	one := write.create("one", labels{"app": "a"})
	two := write.create("two", labels{"app": "b"})
	write.create("three", labels{"app": "c"})
	oneTouched := write.touch("one", "touched")
	twoTouched := write.touch("two", "touched")
	write.touch("three", "touched")
	oneMoved := write.relabel("one", map[string]any{"app": "b"})
	threeMoved := write.relabel("three", map[string]any{"app": "a"})
	write.delete("two")
	last := write.create("last", nil)

	wantChanges(t, a.Reaches(ctx, last.ResourceVersion),
		added(one), modified(oneTouched), deleted(oneTouched), added(threeMoved))
	wantChanges(t, b.Reaches(ctx, last.ResourceVersion),
		added(two), modified(twoTouched), added(oneMoved), deleted(twoTouched))
	wantChanges(t, either.Reaches(ctx, last.ResourceVersion),
		added(one), added(two), modified(oneTouched), modified(twoTouched),
		modified(oneMoved), added(threeMoved), deleted(twoTouched))
}
