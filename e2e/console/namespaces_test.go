package console_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestNamespaces_TheServiceReadsTwo is about a developer who starts the service with a kubeconfig that may read two namespaces:
// the console shows these, and says what it does not show.
func TestNamespaces_TheServiceReadsTwo(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	var namespaces []string
	for range 3 {
		namespaces = append(namespaces, kit.NewNamespace(ctx, t, kit.Cluster(t)))
	}
	outside, developer := namespaces[2], kit.NewAccount(ctx, t, namespaces[0], "developer")
	for _, namespace := range namespaces[:2] {
		createPod(ctx, t, namespace, "pod-in-"+namespace, nil)
		developer.GrantIn(namespace, "developer", kit.Rule("*", "get", "list", "watch"))
	}
	createPod(ctx, t, outside, "outside", nil)
	service := harness.StartService(t, developer.Kubeconfig(), "--namespaces", namespaces[0]+","+namespaces[1])
	names := []string{"pod-in-" + min(namespaces[0], namespaces[1]), "pod-in-" + max(namespaces[0], namespaces[1])}
	browser := startConsole(t, "namespaces.mjs", service.Address, outside, names[0], names[1])

	var page struct{ Words string }
	browser.Step(ctx, "all namespaces", &page)
	kit.WantWords(t, page.Words, namespaces[0], namespaces[1])
	browser.Step(ctx, "nodes", &page)
	kit.WantWords(t, page.Words, "nodes is forbidden", developer.User())
	browser.Step(ctx, "outside", &page)
	kit.WantWords(t, page.Words, "pods is forbidden", outside)
	browser.Step(ctx, "overview", &page)
	browser.Step(ctx, "object", &page)
	kit.WantWords(t, page.Words, names[0])
	browser.Ends(ctx)
}
