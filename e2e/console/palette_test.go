package console_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestPalette_AndKeyboardReachTypesAndObjects(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	for _, name := range []string{"alpha", "beta", "gamma"} {
		kit.CreateUnscheduledPod(ctx, t, namespace, name)
	}
	browser := startConsole(t, "palette.mjs", service.Address, namespace, "alpha", "beta", "gamma")

	var page struct{ Address, Words string }
	for _, step := range []struct{ name, path string }{
		{"type", "/r/deployments.apps"},
		{"object", "/o/pods/" + namespace + "/beta"},
		{"entered", "/o/pods/" + namespace + "/beta"},
		{"searched", "q=gamma"},
	} {
		browser.Step(ctx, step.name, &page)
		kit.WantWords(t, page.Address, step.path, "ns="+namespace)
	}
	browser.Step(ctx, "help", &page)
	kit.WantWords(t, page.Words, "Ctrl K", "Open the object")
	browser.Ends(ctx)
}
