package e2e_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Nothing fails in this test, so every step must be delivered.
func TestRandomTraffic_IsDeliveredStepByStep(t *testing.T) {
	t.Parallel()
	ctx := deadlineAfter(t, time.Duration(rounds(t))*faultPatience)
	group := newTrafficGroup(ctx, t, newTestbed(ctx, t, cluster(t)), newSeed(t), callersOf(t, harness.StartService(t, cluster(t).Kubeconfig))...)
	group.atWork(ctx, rounds(t)*5*busy)
	group.catchUp(validate.WhenBack)
	t.Log(group.finish(ctx, validate.Evidence{EveryStep: true}))
}
