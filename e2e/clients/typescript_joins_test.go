package clients_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestTypeScript_JoinsRelatedObjects compares related objects with the cluster, in a list and in a page
// whose related objects change.
func TestTypeScript_JoinsRelatedObjects(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, command := range map[string][]string{
		"Node with gRPC":          append(kit.NodeProgram(t, "node", "joins.mjs"), "grpc"),
		"Node with Connect":       append(kit.NodeProgram(t, "node", "joins.mjs"), "connect"),
		"Node, browser transport": append(kit.NodeProgram(t, "node", "joins.mjs"), "web"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			kit.RunDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
			caller := startProgram(t, command, service.Address, namespace)
			var listed struct{ Owners []string }
			caller.Step(ctx, "listed", &listed)
			kit.WantNames(t, "the pods are of", listed.Owners, []string{"web 2", "web 2"})
			var page struct {
				Name string
				Pods int
			}
			caller.Step(ctx, "page", &page)
			if page.Name != "web" || page.Pods != 2 {
				t.Errorf("the page has %+v, want web with 2 pods", page)
			}
			kit.ScaleDeployment(ctx, t, namespace, "web", 5)
			caller.Ends(ctx)
		})
	}
}
