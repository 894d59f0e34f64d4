package e2e_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

func TestScenario10_WatchersConvergeAfterCompaction(t *testing.T) {
	t.Parallel()
	ctx := deadlineAfter(t, faultPatience)
	controlPlane := forgetfulCluster(t)
	link := harness.StartProxy(t, controlPlane.Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, controlPlane.Kubeconfig, link.Address()))
	group := newTrafficGroup(ctx, t, newTestbed(ctx, t, controlPlane), newSeed(t), callersOf(t, service)...)
	group.atWork(ctx, busy)

	link.Set(harness.Refused)
	version := group.resources[0].traffic.Writes.Newest()
	group.written(ctx, busy)
	untilForgotten(ctx, t, controlPlane, version)
	link.Set(harness.None)

	group.atWork(ctx, busy)
	t.Log(group.finish(ctx, validate.Evidence{}))
}
