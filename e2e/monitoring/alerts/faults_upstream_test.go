package alerts_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// theAPIServerRefusesConnections also checks that the alert ends, and that no other one fires while
// the failed reviews of callers are still in the range of the rules.
func theAPIServerRefusesConnections(ctx context.Context, t *testing.T) *prometheus {
	replica, account := startReplica(ctx, t, "a", "--auth", "cluster"), reader(ctx, t)
	p := startPrometheus(t, replica.target)
	startLoad(t, account.Calling(replica.Service, harness.GRPC).Resources)
	replica.link.Set(harness.Refused)
	p.untilFiring(t, "KubeconnectUpstreamLost")
	replica.link.Set(harness.None)
	p.untilFiring(t)
	p.untilRecorded(t, longestRange)
	return p
}

// theAPIServerIsFrozen does not authenticate callers: their reviews would fail for the minutes of
// the recording in which the service does not notice that the link is half-open.
func theAPIServerIsFrozen(ctx context.Context, t *testing.T) *prometheus {
	replica := startReplica(ctx, t, "a")
	p := startPrometheus(t, replica.target)
	startLoad(t, clientOf(t, replica.Service))
	replica.link.Set(harness.Frozen)
	p.untilFiring(t, "KubeconnectUpstreamLost")
	return p
}

func oneOfTwoReplicasLosesItsLink(ctx context.Context, t *testing.T) *prometheus {
	account := reader(ctx, t)
	connected, cut := startReplica(ctx, t, "a", "--auth", "cluster"), startReplica(ctx, t, "b", "--auth", "cluster")
	p := startPrometheus(t, connected.target, cut.target)
	startLoad(t, account.Calling(connected.Service, harness.GRPC).Resources, account.Calling(cut.Service, harness.GRPC).Resources)
	cut.link.Set(harness.Refused)
	p.untilFiring(t, "KubeconnectReplicaStale")
	return p
}

// aResourceIsForbidden runs the service with an account that lacks the permission to list
// ServiceAccounts, which it preloads.
func aResourceIsForbidden(ctx context.Context, t *testing.T) *prometheus {
	p, replica := withoutServiceAccounts(ctx, t, "--preload", "serviceaccounts")
	startLoad(t, clientOf(t, replica.Service))
	p.untilFiring(t, "KubeconnectResourceStale")
	return p
}

func theOnlyResourceIsForbidden(ctx context.Context, t *testing.T) *prometheus {
	p, _ := withoutServiceAccounts(ctx, t, "--preload", "serviceaccounts")
	p.untilFiring(t, "KubeconnectResourceStale")
	return p
}

func withoutServiceAccounts(ctx context.Context, t *testing.T, flags ...string) (*prometheus, *replica) {
	t.Helper()
	account := reader(ctx, t)
	replica := startReplicaOf(ctx, t, kit.Cluster(t), account.Kubeconfig(), "a", flags...)
	return startPrometheus(t, replica.target), replica
}

// relists is more than the alert tolerates within an hour.
const relists = 3

// theHistoryIsLostRepeatedly freezes the link until etcd has lost the history since the last event,
// and then closes the connections. The service has to list again each time. Another replica keeps
// its link: without it, the API server would be lost for a while too.
func theHistoryIsLostRepeatedly(ctx context.Context, t *testing.T) *prometheus {
	controlPlane := kit.CompactingCluster(t)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, kit.NewNamespace(ctx, t, controlPlane))
	write.Create("changed", nil)
	replica := startReplicaOf(ctx, t, controlPlane, controlPlane.Kubeconfig, "a", "--preload", "configmaps")
	other := startReplicaOf(ctx, t, controlPlane, controlPlane.Kubeconfig, "b", "--preload", "configmaps")
	p := startPrometheus(t, replica.target, other.target)
	for i := range relists {
		replica.link.Set(harness.Frozen)
		kit.UntilCompacted(ctx, t, controlPlane, write.Touch("changed", fmt.Sprint(i)).ResourceVersion)
		replica.link.Cut()
		replica.link.Set(harness.None)
		kit.Eventually(ctx, t, "the service lists again", func() error {
			if listed := replica.target.value(ctx, t, `kubeconnect_cache_relists_total{resource="configmaps.v1"}`); listed <= float64(i) {
				return fmt.Errorf("%v lists", listed)
			}
			return nil
		})
	}
	p.untilFiring(t, "KubeconnectRelists")
	return p
}
