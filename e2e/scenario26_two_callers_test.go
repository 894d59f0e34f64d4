package e2e_test

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestScenario26_CallersOfOneViewSeeTheirOwnObjects opens the same watch as two callers with
// different permissions, while both namespaces change.
func TestScenario26_CallersOfOneViewSeeTheirOwnObjects(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), startForCallers(t)
	one, two := newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t))
	jane, joe := newAccount(ctx, t, one, "jane"), newAccount(ctx, t, two, "joe")
	read := rule("configmaps", "list", "watch")
	jane.grantIn(one, "reader", read)
	jane.grantIn(two, "reader", read)
	joe.grantIn(two, "joe", read)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			janes, joes := jane.calling(service, protocol).Resources, joe.calling(service, protocol).Resources
			eventually(ctx, t, "jane can list two namespaces", func() error { return listsNamespaces(ctx, janes, one, two) })
			eventually(ctx, t, "joe can list one namespace", func() error { return listsNamespaces(ctx, joes, two) })
			request := &kubeconnectv1.WatchRequest{Resource: "configmaps"}
			ofJane, ofJoe := record.Watch(t, janes, request), record.Watch(t, joes, request)
			wantHeld(t, ofJane.Synced(ctx), one, two)
			wantHeld(t, ofJoe.Synced(ctx), two)
			configMapsIn(ctx, t, cluster(t), one).create("mine", nil)
			last := configMapsIn(ctx, t, cluster(t), two).create("mine", nil)
			wantHeld(t, ofJane.Reaches(ctx, last.ResourceVersion), one, two)
			view := ofJoe.Reaches(ctx, last.ResourceVersion)
			for _, event := range view.Events {
				if namespace := event.GetObject().GetNamespace(); namespace == one {
					t.Errorf("joe receives %v", event)
				}
			}
			configMapsIn(ctx, t, cluster(t), one).delete("mine")
			configMapsIn(ctx, t, cluster(t), two).delete("mine")
		})
	}
}
