package scenarios_test

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestScenario26_CallersOfOneViewSeeTheirOwnObjects opens the same watch as two callers with
// different permissions, while both namespaces change.
func TestScenario26_CallersOfOneViewSeeTheirOwnObjects(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	one, two := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	jane, joe := kit.NewAccount(ctx, t, one, "jane"), kit.NewAccount(ctx, t, two, "joe")
	read := kit.Rule("configmaps", "list", "watch")
	jane.GrantIn(one, "reader", read)
	jane.GrantIn(two, "reader", read)
	joe.GrantIn(two, "joe", read)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			janes, joes := jane.Calling(service, protocol).Resources, joe.Calling(service, protocol).Resources
			kit.Eventually(ctx, t, "jane can list two namespaces", func() error { return kit.ListsNamespaces(ctx, janes, one, two) })
			kit.Eventually(ctx, t, "joe can list one namespace", func() error { return kit.ListsNamespaces(ctx, joes, two) })
			request := &kubeconnectv1.WatchRequest{Resource: "configmaps"}
			ofJane, ofJoe := record.Watch(t, janes, request), record.Watch(t, joes, request)
			kit.WantHeld(t, ofJane.Synced(ctx), one, two)
			kit.WantHeld(t, ofJoe.Synced(ctx), two)
			kit.ConfigMapsIn(ctx, t, kit.Cluster(t), one).Create("mine", nil)
			last := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), two).Create("mine", nil)
			kit.WantHeld(t, ofJane.Reaches(ctx, last.ResourceVersion), one, two)
			view := ofJoe.Reaches(ctx, last.ResourceVersion)
			for _, event := range view.Events {
				if namespace := event.GetObject().GetNamespace(); namespace == one {
					t.Errorf("joe receives %v", event)
				}
			}
			kit.ConfigMapsIn(ctx, t, kit.Cluster(t), one).Delete("mine")
			kit.ConfigMapsIn(ctx, t, kit.Cluster(t), two).Delete("mine")
		})
	}
}
