package clients_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestClients_FollowTheLogsOfASelection crashes the service while the logs are followed: each
// line is delivered once.
func TestClients_FollowTheLogsOfASelection(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l := kit.NewLoggingPods(t)
			service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
			one := l.Start("one", kit.Labels{"app": "web"}, "main", "proxy")
			other := l.Start("other", kit.Labels{"app": "db"}, "main")
			other[0].Write("not selected\n")
			caller := startProgram(t, kit.PythonProgram(t, "python", "log_lines.py"), way, service.Address, l.Namespace)
			number := 0
			wantLine := func(want loggedLine) {
				t.Helper()
				number++
				var line loggedLine
				if caller.Step(l.Ctx, fmt.Sprintf("line-%d", number), &line); line != want {
					t.Fatalf("line %d is %+v, want %+v", number, line, want)
				}
			}
			one[0].Write("one\n")
			wantLine(loggedLine{"one", "main", "one"})
			one[1].Write("Grüße 🌍\n")
			wantLine(loggedLine{"one", "proxy", "Grüße 🌍"})
			service.Crash()
			harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
			one[0].Write("after the crash\n")
			wantLine(loggedLine{"one", "main", "after the crash"})
			two := l.Start("two", kit.Labels{"app": "web"}, "main")
			two[0].Write("one of a later pod\n")
			wantLine(loggedLine{"two", "main", "one of a later pod"})
			two[0].Write("stop\n")
			wantLine(loggedLine{"two", "main", "stop"})
			var read struct{ Lines []string }
			if caller.Step(l.Ctx, "read", &read); !slices.Equal(read.Lines, []string{"one", "one of a later pod"}) {
				t.Errorf("read %q", read.Lines)
			}
			caller.Ends(l.Ctx)
		})
	}
}

// loggedLine is a line as a program reports it.
type loggedLine struct{ Pod, Container, Text string }
