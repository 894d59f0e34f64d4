package clients_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestTypeScript_FollowsTheLogsOfASelection breaks the stream between lines, and starts a pod while the
// program follows: each line must be read once.
func TestTypeScript_FollowsTheLogsOfASelection(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, command := range map[string][]string{
		"Node with gRPC":          append(kit.NodeProgram(t, "node", "loglines.mjs"), "grpc"),
		"Node with Connect":       append(kit.NodeProgram(t, "node", "loglines.mjs"), "connect"),
		"Node, browser transport": append(kit.NodeProgram(t, "node", "loglines.mjs"), "web"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := kit.NewLoggingPods(t)
			first := l.Start("web-1", kit.Labels{"app": "web"}, "main")[0]
			l.Start("other", kit.Labels{"app": "other"}, "main")[0].Write("error of another pod\n")
			first.Write("error 1\nnothing\nerror 2\n")
			link := harness.StartProxy(t, kit.HostPort(service), harness.None)
			caller := startProgram(t, command, "http://"+link.Address(), l.Namespace)
			caller.wantLine(l.Ctx, "web-1: error 2")
			link.Cut()
			first.Write("error 3\nnothing\n")
			caller.wantLine(l.Ctx, "web-1: error 3")
			second := l.Start("web-2", kit.Labels{"app": "web"}, "main")[0]
			caller.wantBegan(l.Ctx, "web-2")
			second.Write("error 4\n")
			caller.wantLine(l.Ctx, "web-2: error 4")
			link.Cut()
			second.Write("error: the end\n")
			var ended struct{ Lines []string }
			caller.Step(l.Ctx, "ended", &ended)
			want := []string{"web-1: error 1", "web-1: error 2", "web-1: error 3", "web-2: error 4", "web-2: error: the end"}
			if !slices.Equal(ended.Lines, want) {
				t.Errorf("the program has read %q, want %q", ended.Lines, want)
			}
			caller.Ends(l.Ctx)
		})
	}
}

// wantBegan blocks until the program reports that the log of a pod is opened.
func (p program) wantBegan(ctx context.Context, pod string) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(printed string) bool {
		var report struct{ Step, Pod string }
		return json.Unmarshal([]byte(printed), &report) == nil && report.Step == "began" && report.Pod == pod
	})
	if err != nil {
		p.t.Fatalf("log of %q: %v", pod, err)
	}
}
