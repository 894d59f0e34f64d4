package clients_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// grownBytes bounds the memory that a thousand rounds leave behind: far less than one of their objects each.
const grownBytes = 2 << 20

// TestTypeScript_StoresLeaveNothingBehind follows and leaves a thousand stores, pages and counts. The memory
// must not grow with them, all promises must settle, and the program must end by itself.
func TestTypeScript_StoresLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range []string{"grpc", "connect", "web"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			for i := range 10 {
				kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(fmt.Sprintf("object-%d", i), kit.Labels{"round": "no"})
			}
			command := slices.Insert(kit.NodeProgram(t, "node", "liverounds.mjs"), 1, "--expose-gc")
			caller := startProgram(t, append(command, protocol), service.Address, namespace)
			var rounds struct {
				Before, After struct {
					Bytes     int
					Resources []string
				}
			}
			caller.Step(ctx, "rounds", &rounds)
			if grown := rounds.After.Bytes - rounds.Before.Bytes; grown > grownBytes {
				t.Errorf("the memory has grown by %d bytes, from %d", grown, rounds.Before.Bytes)
			}
			if len(rounds.After.Resources) > len(rounds.Before.Resources) {
				t.Errorf("the program has %q, and had %q before", rounds.After.Resources, rounds.Before.Resources)
			}
			t.Logf("%+v", rounds)
			caller.Ends(ctx)
		})
	}
}
