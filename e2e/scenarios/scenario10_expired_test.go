package scenarios_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

func TestScenario10_WatchersConvergeAfterCompaction(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane := kit.CompactingCluster(t)
	link := harness.StartProxy(t, controlPlane.Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, controlPlane.Kubeconfig, link.Address()))
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, controlPlane), kit.NewSeed(t), kit.WatchClients(t, service)...)
	group.AtWork(ctx, kit.BusyWrites)

	link.Set(harness.Refused)
	version := group.Resources[0].Traffic.Writes.Newest()
	group.Written(ctx, kit.BusyWrites)
	kit.UntilCompacted(ctx, t, controlPlane, version)
	link.Set(harness.None)

	group.AtWork(ctx, kit.BusyWrites)
	t.Log(group.Finish(ctx, validate.Evidence{}))
}
