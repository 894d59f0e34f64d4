package e2e_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

func TestScenario10_WhenTheAPIServerHasForgottenMeanwhileEveryWatcherConvergesAndSeesNoError(t *testing.T) {
	t.Parallel()
	ctx := deadlineAfter(t, faultPatience)
	in := forgetfulCluster(t)
	link := harness.StartProxy(t, in.Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, in.Kubeconfig, link.Address()))
	crew := newCrew(ctx, t, newStage(ctx, t, in), newSeed(t), callersOf(t, service)...)
	crew.atWork(ctx, busy)

	link.Set(harness.Refused)
	version := crew.casts[0].traffic.Writes.Newest()
	crew.written(ctx, busy)
	untilForgotten(ctx, t, in, version)
	link.Set(harness.None)

	crew.atWork(ctx, busy)
	t.Log(crew.finish(ctx, validate.Evidence{}))
}
