package e2e_test

import (
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
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
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	first := write.create("one", nil)
	removed := write.create("gone", nil)
	client, link := newClientBehindProxy(t, cluster(t), harness.None)
	untilRead(ctx, t, client, "configmaps", write.create("stays", nil))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)

	link.Set(fault)
	write.delete("one")
	second := write.create("one", nil)
	write.delete("gone")
	stays := write.touch("stays", "touched")
	link.Set(harness.None)

	view := untilHeld(ctx, stream, configMapVersions(ctx, t, namespace, ""))
	changes := wantChangesInAnyOrder(t, view, deleted(first), added(second), deleted(removed), modified(stays))
	if slices.Index(changes, deleted(first)) > slices.Index(changes, added(second)) {
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
