package clients_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// pageLine is a line of a program that follows a page.
type pageLine struct {
	Step          string
	Names         []string
	Total, Offset int
	Kept          int // objects that are also those of the previous line
	Resets        int // snapshots that the service has sent
}

// livePrograms returns the programs that follow something in TypeScript.
func livePrograms(t *testing.T, subject string) map[string][]string {
	t.Helper()
	return map[string][]string{
		"Node with gRPC":          append(kit.NodeProgram(t, "node", "live.mjs"), subject, "grpc"),
		"Node with Connect":       append(kit.NodeProgram(t, "node", "live.mjs"), subject, "connect"),
		"Node, browser transport": append(kit.NodeProgram(t, "node", "live.mjs"), subject, "web"),
		"Browser":                 append(kit.NodeProgram(t, "browser", "live.mjs"), subject),
	}
}

// TestTypeScript_FollowsAPage changes the objects of a page, also while the stream is broken, and scrolls
// it: the program must always show the objects of the page in their order, and be sent one snapshot.
func TestTypeScript_FollowsAPage(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, command := range livePrograms(t, "page") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			settings := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			for name, rank := range map[string]string{"a": "10", "b": "20", "c": "30", "d": "40", "e": "50"} {
				settings.Create(name, kit.Labels{"rank": rank})
			}
			link := harness.StartProxy(t, kit.HostPort(service), harness.None)
			caller := startProgram(t, command, "http://"+link.Address(), namespace)
			caller.showsPage(ctx, pageLine{Names: []string{"a=10", "b=20", "c=30"}, Total: 5})
			settings.Relabel("b", map[string]any{"rank": "35"})
			caller.showsPage(ctx, pageLine{Names: []string{"a=10", "c=30", "b=35"}, Total: 5, Kept: 2})
			link.Cut()
			settings.Relabel("b", map[string]any{"rank": "5"})
			caller.showsPage(ctx, pageLine{Names: []string{"b=5", "a=10", "c=30"}, Total: 5, Kept: 2})
			settings.Create("f", kit.Labels{"rank": "60"})
			caller.showsPage(ctx, pageLine{Names: []string{"b=5", "a=10", "c=30"}, Total: 6, Kept: 3})
			caller.showsPage(ctx, pageLine{Names: []string{"c=30", "d=40", "e=50"}, Total: 6, Offset: 2, Kept: 1})
			settings.Delete("a")
			caller.showsPage(ctx, pageLine{Names: []string{"d=40", "e=50", "f=60"}, Total: 5, Offset: 2, Kept: 2})
			for _, name := range []string{"b", "c", "d", "e", "f"} {
				settings.Delete(name)
			}
			caller.showsPage(ctx, pageLine{Names: []string{}})
			caller.Ends(ctx)
		})
	}
}

// showsPage blocks until the program shows this page, and fails the test if it was sent another
// snapshot.
func (p program) showsPage(ctx context.Context, want pageLine) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(line string) bool {
		var printed pageLine
		if json.Unmarshal([]byte(line), &printed) != nil || printed.Step != "page" {
			return false
		}
		if printed.Resets != 1 {
			p.t.Errorf("%d snapshots, want one", printed.Resets)
		}
		return slices.Equal(printed.Names, want.Names) && printed.Total == want.Total &&
			printed.Offset == want.Offset && printed.Kept == want.Kept
	})
	if err != nil {
		p.t.Fatalf("%v: the program does not show %+v", err, want)
	}
}
