package faults_test

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// The upgraded control plane has the same data at the same addresses. Its API server and its etcd
// are of another minor version.
func TestUpgrade_StreamsAndTokensSurviveANewControlPlane(t *testing.T) {
	t.Parallel()
	controlPlane := startPreviousCluster(t)
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	write, with := kit.ConfigMapsIn(ctx, t, controlPlane, namespace), kit.Labels{"test": "upgrade"}
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "test=upgrade"}
	write.Create("kept", with)
	goes := write.Create("goes", with)
	client := kit.NewClient(t, controlPlane)
	open, closed := record.Watch(t, client, request), record.Watch(t, client, request)
	open.Reaches(ctx, goes.ResourceVersion)
	point := kit.LastPoint(t, closed.Reaches(ctx, goes.ResourceVersion))
	closed.Close()

	upgrade(t, controlPlane)
	touched := write.Touch("kept", "after the upgrade")
	open.Reaches(ctx, touched.ResourceVersion) // a watch is open at the new API server
	write.Delete("goes")
	comes := write.Create("comes", with)

	for name, stream := range map[string]*record.Stream{
		"the open stream":    open,
		"the resumed stream": record.Resume(t, client, request, point),
	} {
		view := stream.Reaches(ctx, comes.ResourceVersion)
		kit.WantChanges(t, view, kit.Modified(touched), kit.Deleted(goes), kit.Added(comes))
		if view.Model.Resets != 1 {
			t.Errorf("%s had %d snapshots, want only the first", name, view.Model.Resets)
		}
	}
	kit.UntilHeld(ctx, record.ResumeElsewhere(t, kit.NewClient(t, controlPlane), request, point), kit.VersionsOf(touched, comes))
}

// upgrade replaces the control plane and checks that its version has changed.
func upgrade(t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	before := serverVersion(t, controlPlane)
	if err := controlPlane.Upgrade(); err != nil {
		t.Fatal(err)
	}
	after := serverVersion(t, controlPlane)
	if after == before {
		t.Fatalf("the API server has version %s before and after the upgrade", after)
	}
	t.Logf("upgraded from %s to %s", before, after)
}

// startPreviousCluster starts a control plane of the previous version of Kubernetes. It skips the
// test if that was not built.
func startPreviousCluster(t *testing.T) *harness.Cluster {
	t.Helper()
	if _, err := harness.PreviousDevcluster(); err != nil {
		t.Skipf("the control plane with Kubernetes %s was not built: run `make devcluster KUBERNETES=%[1]s`", harness.PreviousVersion)
	}
	controlPlane, err := harness.StartPreviousCluster()
	if err != nil {
		t.Fatal(err)
	}
	harness.Cleanup(t, controlPlane.Stop)
	return controlPlane
}

// serverVersion returns the version of Kubernetes that the API server reports.
func serverVersion(t *testing.T, controlPlane *harness.Cluster) string {
	t.Helper()
	version, err := controlPlane.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	return version.GitVersion
}
