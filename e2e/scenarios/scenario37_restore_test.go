package scenarios_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// After a restore without higher versions, a running replica detects that the API server lists at a
// lower version. A replica that starts after the versions have grown past a token's cannot detect
// it, and needs another token generation.
func TestScenario37_TokenOfAnUndoneHistoryGetsASnapshot(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane, err := kit.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "test=restore"}
	with := kit.Labels{"test": "restore"}
	write.Create("kept", with)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := controlPlane.Offline(func(etcd string) error { return os.CopyFS(backup, os.DirFS(etcd)) }); err != nil {
		t.Fatal(err)
	}
	replica := func(generation string) kit.ResourceClient {
		service := harness.StartService(t, controlPlane.Kubeconfig, "--token-generation", generation)
		return harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	}
	running := record.Watch(t, replica("1"), request)
	running.Synced(ctx)
	write.Create("undone", with)
	last := write.Touch("kept", "undone")
	view := running.Reaches(ctx, last.ResourceVersion)
	point := kit.LastPoint(t, view)

	if err := controlPlane.Offline(func(etcd string) error {
		return errors.Join(os.RemoveAll(etcd), os.CopyFS(etcd, os.DirFS(backup)))
	}); err != nil {
		t.Fatal(err)
	}
	running.Until(ctx, "the running replica has noticed", func(view *record.View) bool {
		return slices.Equal(heldNames(&view.Model), []string{"kept"})
	})
	created := write.Create("made", with)
	for !kit.IsNewer(t, created.ResourceVersion, last.ResourceVersion) {
		created = write.Touch("made", created.ResourceVersion)
	}
	want := []string{"kept", "made"}
	running.Until(ctx, "the running replica continues", func(view *record.View) bool { return slices.Equal(heldNames(&view.Model), want) })
	resumed := record.Resume(t, replica("2"), request, point).Reaches(ctx, created.ResourceVersion)
	if got := heldNames(&resumed.Model); !slices.Equal(got, want) || resumed.Model.Resets != 2 {
		t.Errorf("the client of the new generation has %v after %d resets, want %v after the second one", got, resumed.Model.Resets, want)
	}
}

// heldNames returns the names of a client's objects, in order.
func heldNames(model *validate.Model) []string {
	var names []string
	for key := range model.Objects {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	return names
}
