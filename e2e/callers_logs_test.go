package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestClients_FollowALog writes each line only when the previous one has been reported.
func TestClients_FollowALog(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for name, command := range map[string][]string{
		"Python with threads": append(pythonProgram(t, "python", "logs.py"), "threads"),
		"Python with asyncio": append(pythonProgram(t, "python", "logs.py"), "asyncio"),
		"Node with gRPC":      append(nodeProgram("node", "logs.mjs"), "grpc"),
		"Node with Connect":   append(nodeProgram("node", "logs.mjs"), "connect"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLogging(t)
			caller := startProgram(t, command, service.Address, l.namespace, l.pod)
			written := 0
			for _, line := range []string{"one", "", "Grüße 🌍", strings.Repeat("long ", 50_000), "the end"} {
				l.log.Write(line + "\n")
				written += len(line) + 1
				caller.wantLine(l.ctx, line)
			}
			l.log.End()
			var ended struct{ Size int }
			caller.step(l.ctx, "ended", &ended)
			if ended.Size != written {
				t.Errorf("the log has %d bytes, want %d", ended.Size, written)
			}
			caller.wantFailure(l.ctx, "missing", "NotFound", `pods "nobody" not found`)
			caller.ends(l.ctx)
		})
	}
}

// wantLine blocks until the program reports this line of a log.
func (p program) wantLine(ctx context.Context, want string) {
	p.t.Helper()
	_, err := p.process.UntilPrints(ctx, func(printed string) bool {
		var report struct{ Step, Text string }
		return json.Unmarshal([]byte(printed), &report) == nil && report.Step == "line" && report.Text == want
	})
	if err != nil {
		p.t.Fatalf("line %.40q: %v", want, err)
	}
}
