package e2e_test

import (
	"math/rand/v2"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
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
	ctx := deadlineAfter(t, time.Duration(rounds(t))*faultPatience)
	seed, on := newSeed(t), testbed{controlPlane: cluster(t), resources: []traffic.Resource{traffic.ConfigMaps}}
	for range 5 {
		on.namespaces = append(on.namespaces, newNamespace(ctx, t, on.controlPlane))
	}
	caller := &rbacAccount{account: newAccount(ctx, t, on.namespaces[0], "reader"), resource: "configmaps"}
	caller.grant(on.namespaces[0])
	service := startForCallers(t, "--recheck-interval", "2s")
	var clients []record.Client
	for _, protocol := range harness.Protocols {
		clients = append(clients, caller.calling(service, protocol).Resources)
	}
	eventually(ctx, t, "the caller has its first permission", func() error {
		_, err := clients[0].(resourceClient).List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
		return err
	})
	caller.rights[0].From = time.Time{} // the permission has been noticed everywhere
	group := newTrafficGroup(ctx, t, on, seed, clients...)
	group.catchUp(validate.Nowhere)
	changing := on.namespaces[1 : len(on.namespaces)-1]
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range rounds(t) * changesOfRights {
		namespace := changing[rnd.IntN(len(changing))]
		if caller.has(namespace) {
			caller.revoke(namespace)
		} else {
			caller.grant(namespace)
		}
		group.written(ctx, rnd.IntN(busy/10))
	}
	for _, load := range group.resources {
		load.allowed = caller.has
	}
	evidence := caller.evidence()
	evidence.EveryStep = true
	t.Log(group.finish(ctx, evidence))
}
