package permissions_test

import (
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// TestRandomStreams_OfSeveralCallersDoNotDisturbEachOther changes objects at random while callers with
// different permissions have streams with different questions about the same objects: with relations,
// some of which select nothing, selectors, filters, fields, pages and counts, in all encodings.
func TestRandomStreams_OfSeveralCallersDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	on := kit.Testbed{ControlPlane: kit.Cluster(t), Resources: []traffic.Resource{traffic.ConfigMaps}}
	for range 2 {
		on.Namespaces = append(on.Namespaces, kit.NewNamespace(ctx, t, on.ControlPlane))
	}
	service := kit.StartForCallers(t)
	for i, caller := range []struct {
		name       string
		namespaces []string
	}{
		{"of-all", on.Namespaces},
		{"of-the-first", on.Namespaces[:1]},
		{"of-the-second", on.Namespaces[1:]},
	} {
		account := &kit.RbacAccount{Account: kit.NewAccount(ctx, t, on.Namespaces[0], caller.name), Resource: "configmaps"}
		for _, namespace := range caller.namespaces {
			account.Grant(namespace)
		}
		protocols := []harness.Protocol{harness.GRPC, harness.Protocols[i]}
		for _, protocol := range protocols {
			account.Clients = append(account.Clients, account.Calling(service, protocol).Resources)
		}
		for _, namespace := range caller.namespaces {
			kit.Eventually(ctx, t, "the caller has its permissions", func() error {
				_, err := account.Clients[0].(kit.ResourceClient).List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
				return err
			})
		}
		account.Clients = append(account.Clients, kit.NewSharingClient(t, account.Clients[0].(kit.ResourceClient)))
		for i := range account.Rights {
			account.Rights[i].From = time.Time{} // the permission has been noticed everywhere
		}
		on.Callers = append(on.Callers, account)
	}
	group := kit.NewTrafficGroup(ctx, t, on, kit.NewSeed(t))
	group.CatchUp(validate.Nowhere)
	group.AtWork(ctx, kit.Rounds(t)*kit.BusyWrites)
	t.Log(group.Finish(ctx, validate.Evidence{EveryStep: true}))
}
