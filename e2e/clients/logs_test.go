package clients_test

import (
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestClients_FollowALog writes each line only when the previous one has been reported.
func TestClients_FollowALog(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, command := range map[string][]string{
		"Python with threads": append(kit.PythonProgram(t, "python", "logs.py"), "threads"),
		"Python with asyncio": append(kit.PythonProgram(t, "python", "logs.py"), "asyncio"),
		"Node with gRPC":      append(kit.NodeProgram(t, "node", "logs.mjs"), "grpc"),
		"Node with Connect":   append(kit.NodeProgram(t, "node", "logs.mjs"), "connect"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := kit.NewLogging(t)
			caller := startProgram(t, command, service.Address, l.Namespace, l.Pod)
			written := 0
			for _, line := range []string{"one", "", "Grüße 🌍", strings.Repeat("long ", 50_000), "the end"} {
				l.Log.Write(line + "\n")
				written += len(line) + 1
				caller.wantLine(l.Ctx, line)
			}
			l.Log.End()
			var ended struct{ Size int }
			caller.Step(l.Ctx, "ended", &ended)
			if ended.Size != written {
				t.Errorf("the log has %d bytes, want %d", ended.Size, written)
			}
			caller.wantFailure(l.Ctx, "missing", "NotFound", `pods "nobody" not found`)
			caller.Ends(l.Ctx)
		})
	}
}
