package permissions_test

import (
	"math/rand/v2"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// changesOfRights is the number of changes in a round.
const changesOfRights = 20

// TestRandomGrants_ReachOpenStreams grants and revokes permissions in namespaces at random, while
// all objects change and clients reconnect. The caller always has permission to read one namespace,
// and never another.
func TestRandomGrants_ReachOpenStreams(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	seed, on := kit.NewSeed(t), kit.Testbed{ControlPlane: kit.Cluster(t), Resources: []traffic.Resource{traffic.ConfigMaps}}
	for range 5 {
		on.Namespaces = append(on.Namespaces, kit.NewNamespace(ctx, t, on.ControlPlane))
	}
	caller := &kit.RbacAccount{Account: kit.NewAccount(ctx, t, on.Namespaces[0], "reader"), Resource: "configmaps"}
	caller.Grant(on.Namespaces[0])
	service := kit.StartForCallers(t, "--recheck-interval", "2s")
	var clients []record.Client
	for _, protocol := range harness.Protocols {
		client := caller.Calling(service, protocol).Resources
		clients = append(clients, client, kit.NewSharingClient(t, client))
	}
	kit.Eventually(ctx, t, "the caller has its first permission", func() error {
		_, err := clients[0].(kit.ResourceClient).List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
		return err
	})
	caller.Rights[0].From = time.Time{} // the permission has been noticed everywhere
	group := kit.NewTrafficGroup(ctx, t, on, seed, clients...)
	group.CatchUp(validate.Nowhere)
	changing := on.Namespaces[1 : len(on.Namespaces)-1]
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range kit.Rounds(t) * changesOfRights {
		namespace := changing[rnd.IntN(len(changing))]
		if caller.Has(namespace) {
			caller.Revoke(namespace)
		} else {
			caller.Grant(namespace)
		}
		group.Written(ctx, rnd.IntN(kit.BusyWrites/10))
	}
	for _, load := range group.Resources {
		load.Allowed = caller.Has
	}
	evidence := caller.Evidence()
	evidence.EveryStep = true
	t.Log(group.Finish(ctx, evidence))
}
