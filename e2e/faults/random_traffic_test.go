package faults_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Nothing fails in this test, so every step must be delivered.
func TestRandomTraffic_IsDeliveredStepByStep(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, kit.Cluster(t)), kit.NewSeed(t), kit.WatchClients(t, harness.StartService(t, kit.Cluster(t).Kubeconfig))...)
	group.AtWork(ctx, kit.Rounds(t)*5*kit.BusyWrites)
	group.CatchUp(validate.WhenBack)
	t.Log(group.Finish(ctx, validate.Evidence{EveryStep: true}))
}
