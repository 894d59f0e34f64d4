package console_test

import (
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestConsole_LoadsFewScriptsAtFirst bounds the scripts of the first page, and checks that the
// editor, the graph, the charts and the terminal are not among them.
func TestConsole_LoadsFewScriptsAtFirst(t *testing.T) {
	t.Parallel()
	const limit = 200 << 10 // bytes, compressed
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("settings", nil)
	browser := startConsole(t, "weight.mjs", service.Address, namespace, "settings")

	var loaded struct {
		Bytes, Scripts int
		Libraries      []string
	}
	browser.Step(ctx, "first page", &loaded)
	t.Logf("the first page loads %d scripts, %d bytes compressed", loaded.Scripts, loaded.Bytes)
	if loaded.Bytes > limit || loaded.Scripts == 0 {
		t.Errorf("%d scripts with %d bytes, want at most %d", loaded.Scripts, loaded.Bytes, limit)
	}
	if len(loaded.Libraries) > 0 {
		t.Errorf("the first page loads %q", loaded.Libraries)
	}
	if browser.Step(ctx, "editor", &loaded); !slices.Contains(loaded.Libraries, "codemirror") {
		t.Errorf("the editor is not found in its scripts: %q", loaded.Libraries)
	}
	browser.Ends(ctx)
}
