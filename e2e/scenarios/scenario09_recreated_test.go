package scenarios_test

import (
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario09_RecreationDuringAnOutageIsDeletedAndAdded(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]harness.Fault{
		"by a server that refuses connections":      harness.Refused,
		"by a load balancer that drops connections": harness.Dropped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recreateDuring(t, fault)
		})
	}
}

func recreateDuring(t *testing.T, fault harness.Fault) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	first := write.Create("one", nil)
	removed := write.Create("gone", nil)
	client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("stays", nil))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)

	link.Set(fault)
	write.Delete("one")
	second := write.Create("one", nil)
	write.Delete("gone")
	stays := write.Touch("stays", "touched")
	link.Set(harness.None)

	view := kit.UntilHeld(ctx, stream, kit.ConfigMapVersions(ctx, t, namespace, ""))
	changes := wantChangesInAnyOrder(t, view, kit.Deleted(first), kit.Added(second), kit.Deleted(removed), kit.Modified(stays))
	if slices.Index(changes, kit.Deleted(first)) > slices.Index(changes, kit.Added(second)) {
		t.Errorf("the old object was deleted after the new one was added: %q", changes)
	}
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one: the missed changes can be sent", view.Model.Resets)
	}
	wantUIDs(t, view, string(first.UID), string(second.UID))
}

// wantUIDs checks the UIDs of the changes of the object "one".
func wantUIDs(t *testing.T, view record.View, want ...string) {
	t.Helper()
	var got []string
	for _, event := range record.AfterSnapshot(view.Events) {
		if event.GetObject().GetName() == "one" {
			got = append(got, event.GetObject().GetUid())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("UIDs of the changes %q, want %q", got, want)
	}
}
