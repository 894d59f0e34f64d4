package scenarios_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

func TestScenario28_StreamsSurviveLinkFaults(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(context.Context, *testing.T, *harness.Proxy) []validate.Outage{
		"it is reset repeatedly": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			for until := time.Now().Add(kit.FaultDuration); time.Now().Before(until); {
				link.Cut()
				kit.Last(ctx, kit.FaultDuration/10)
			}
			return nil
		},
		"it is half-open": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			return kit.InjectFault(ctx, link, harness.Frozen)
		},
		"it is refused": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			return kit.InjectFault(ctx, link, harness.Refused)
		},
		"it is slow": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			kit.InjectFault(ctx, link, harness.Slow)
			return nil // the API server is reachable
		},
		"its frames are truncated": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			kit.InjectFault(ctx, link, harness.Torn)
			return nil // the API server is reachable from time to time
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
			link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
			service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()))
			group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, kit.Cluster(t)), kit.NewSeed(t), kit.WatchClients(t, service)...)
			group.AtWork(ctx, kit.BusyWrites)
			var outages []validate.Outage
			for range kit.Rounds(t) {
				outages = append(outages, strike(ctx, t, link)...)
				group.AtWork(ctx, kit.BusyWrites)
			}
			t.Log(group.Finish(ctx, validate.Evidence{Outages: outages}))
		})
	}
}

// Clients move from a service with a bad link to one with a good link and back. A token of the good
// one may be newer than the state of the bad one.
func TestScenario28_ClientsMoveBetweenGoodAndBadReplicas(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
	bad := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()))
	good := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, kit.Cluster(t)), kit.NewSeed(t), kit.WatchClients(t, bad, good)...)
	group.AtWork(ctx, kit.BusyWrites)
	for _, fault := range slices.Repeat([]harness.Fault{harness.Refused, harness.Torn, harness.Frozen}, kit.Rounds(t)) {
		kit.InjectFault(ctx, link, fault)
		link.Cut()
		group.AtWork(ctx, kit.BusyWrites)
	}
	group.CatchUp(validate.Anywhere) // clients with tokens of the good one catch up when the bad one does
	t.Log(group.Finish(ctx, validate.Evidence{}))
}
