package console_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestTable_ShowsNewAndDeletedPodsWithoutReload(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.RunDeployment(ctx, t, namespace, "web", 3, kit.Labels{})
	browser := startConsole(t, "table.mjs", service.Address, namespace, "3", "5", "2")

	var shown struct{ Names []string }
	browser.Step(ctx, "3 rows", &shown)
	kit.WantNames(t, "the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	kit.ScaleDeployment(ctx, t, namespace, "web", 5)
	browser.Step(ctx, "5 rows", &shown)
	kit.WantNames(t, "the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	kit.ScaleDeployment(ctx, t, namespace, "web", 2)
	browser.Step(ctx, "2 rows", &shown)
	kit.WantNames(t, "the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	var end struct{ Loads int }
	browser.Step(ctx, "end", &end)
	if end.Loads != 0 {
		t.Errorf("the page was loaded again %d times", end.Loads)
	}
	browser.Ends(ctx)
}
