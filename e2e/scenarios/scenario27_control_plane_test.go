package scenarios_test

import (
	"context"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// shakyCluster is for tests that make the control plane itself fail.
var shakyCluster = kit.Shared()

func TestScenario27_StreamsSurviveControlPlaneFaults(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]strike{
		"the API server is killed": func(ctx context.Context, t *testing.T) []validate.Outage {
			return kit.Kill(ctx, t, shakyCluster(t), shakyCluster(t).APIServer())
		},
		"etcd is killed": func(ctx context.Context, t *testing.T) []validate.Outage {
			return kit.Kill(ctx, t, shakyCluster(t), shakyCluster(t).Etcd())
		},
		"the API server is frozen": apiServerStandsStill(kit.FaultDuration),
		"etcd is frozen":           etcdStandsStill(kit.FaultDuration),
	} {
		t.Run(name, func(t *testing.T) { survive(t, strike, kit.Rounds(t)) })
	}
	if _, soaking := kit.SoakFor(t); !soaking {
		return
	}
	// After a minute every connection has timed out, and every lease has expired.
	for name, strike := range map[string]strike{
		"the API server is frozen for a minute": apiServerStandsStill(kit.LongFreeze),
		"etcd is frozen for a minute":           etcdStandsStill(kit.LongFreeze),
	} {
		t.Run(name, func(t *testing.T) { survive(t, strike, 1) })
	}
}

// strike makes something fail for a while. It returns the outages of the API server, as far as they
// are known.
type strike func(context.Context, *testing.T) []validate.Outage

func apiServerStandsStill(lasts time.Duration) strike {
	return func(ctx context.Context, t *testing.T) []validate.Outage {
		return []validate.Outage{kit.Freeze(ctx, t, shakyCluster(t).APIServer(), lasts)}
	}
}

func etcdStandsStill(lasts time.Duration) strike {
	return func(ctx context.Context, t *testing.T) []validate.Outage {
		kit.Freeze(ctx, t, shakyCluster(t).Etcd(), lasts)
		return nil // the API server was reachable
	}
}

// survive strikes the control plane repeatedly, while clients move between two replicas.
func survive(t *testing.T, strike strike, times int) {
	t.Helper()
	ctx := kit.DeadlineAfter(t, time.Duration(times)*kit.FaultPatience)
	services := []*harness.Service{
		harness.StartService(t, shakyCluster(t).Kubeconfig), harness.StartService(t, shakyCluster(t).Kubeconfig),
	}
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, shakyCluster(t)), kit.NewSeed(t), kit.WatchClients(t, services...)...)
	group.AtWork(ctx, kit.BusyWrites)
	var outages []validate.Outage
	for range times {
		outages = append(outages, strike(ctx, t)...)
		group.AtWork(ctx, kit.BusyWrites)
	}
	group.CatchUp(validate.Anywhere) // a replica may be older than a client's previous one
	t.Log(group.Finish(ctx, validate.Evidence{Outages: outages}))
}
