package faults_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// resourceClients returns clients of services.
func resourceClients(t *testing.T, services ...*harness.Service) (clients []kit.ResourceClient) {
	t.Helper()
	for _, client := range kit.WatchClients(t, services...) {
		clients = append(clients, client.(kit.ResourceClient))
	}
	return clients
}

// Nothing fails in this test, so every step must be delivered. All watches, pages and counts share
// streams, and parts that are rejected do not disturb the others.
func TestSharedStreams_AreDeliveredStepByStep(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	sharing := kit.NewSharingClient(t, resourceClients(t, harness.StartService(t, kit.Cluster(t).Kubeconfig))...)
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, kit.Cluster(t)), kit.NewSeed(t), sharing)
	group.AtWork(ctx, kit.Rounds(t)*3*kit.BusyWrites)
	group.CatchUp(validate.WhenBack)
	t.Log(group.Finish(ctx, validate.Evidence{EveryStep: true}))
}

// The tokens of a Watch continue in a part of a WatchMany, and the reverse, at two replicas of which one
// is killed repeatedly.
func TestSharedStreams_ContinueAtOtherReplicasAndInWatches(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	stable, mortal := harness.StartService(t, kit.Cluster(t).Kubeconfig), harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	direct := resourceClients(t, stable, mortal)
	clients := []record.Client{kit.NewSharingClient(t, direct...), kit.NewSharingClient(t, direct...)}
	for _, client := range direct {
		clients = append(clients, client)
	}
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, kit.Cluster(t)), kit.NewSeed(t), clients...)
	group.CatchUp(validate.AfterResume)
	for range kit.Rounds(t) * 2 {
		group.AtWork(ctx, kit.BusyWrites)
		mortal.Crash()
		group.Written(ctx, kit.BusyWrites)
		mortal = harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(mortal))
	}
	group.AtWork(ctx, kit.BusyWrites)
	t.Log(group.Finish(ctx, validate.Evidence{}))
}
