package permissions_test

import (
	"strings"
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
	for name, oneByOne := range map[string]bool{"whole resources": false, "namespaces one by one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamsOfSeveralCallers(t, oneByOne)
		})
	}
}

func streamsOfSeveralCallers(t *testing.T, oneByOne bool) {
	t.Helper()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	on := kit.Testbed{ControlPlane: kit.Cluster(t), Resources: []traffic.Resource{traffic.ConfigMaps}}
	for range 2 {
		on.Namespaces = append(on.Namespaces, kit.NewNamespace(ctx, t, on.ControlPlane))
	}
	var flags []string
	if oneByOne {
		flags = []string{"--namespaces", strings.Join(on.Namespaces, ",")}
	}
	replicas := []*harness.Service{kit.StartForCallers(t, flags...)}
	if oneByOne {
		replicas = append(replicas, kit.StartForCallers(t, flags...))
	}
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
		for i, protocol := range protocols {
			account.Clients = append(account.Clients, account.Calling(replicas[i%len(replicas)], protocol).Resources)
		}
		for _, namespace := range caller.namespaces {
			for _, client := range account.Clients {
				kit.Eventually(ctx, t, "the caller has its permissions", func() error {
					_, err := client.(kit.ResourceClient).List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
					return err
				})
			}
		}
		account.Clients = append(account.Clients, kit.NewSharingClient(t, account.Clients[0].(kit.ResourceClient)))
		for i := range account.Rights {
			account.Rights[i].From = time.Time{} // the permission has been noticed everywhere
		}
		on.Callers = append(on.Callers, account)
	}
	if oneByOne {
		for _, client := range on.Callers[0].Clients[:len(replicas)] {
			on.OneByOne = append(on.OneByOne, client.(kit.ResourceClient))
		}
	}
	group := kit.NewTrafficGroup(ctx, t, on, kit.NewSeed(t))
	group.CatchUp(validate.Nowhere)
	group.AtWork(ctx, kit.Rounds(t)*kit.BusyWrites)
	t.Log(group.Finish(ctx, validate.Evidence{EveryStep: true}))
}
