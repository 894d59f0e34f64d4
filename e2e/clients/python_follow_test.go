package clients_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func always(followedLine) bool { return true }

// isFresh reports whether the program is connected and its objects are current.
func isFresh(printed followedLine) bool {
	return printed.Connected && printed.Stale != nil && !*printed.Stale
}

// TestPythonClient_ContinuesAfterItsTokenIsRenewed lets a caller's token expire while it
// watches. The token file has a new one by then.
func TestPythonClient_ContinuesAfterItsTokenIsRenewed(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, kit.WaitTimeout+kit.CredentialLife)
			namespace, account := newReader(ctx, t, service)
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			write.Create("one", nil)
			file := newTokenFile(t, account.ExpiringToken(time.Now().Add(kit.CredentialLife)))
			caller := startProgram(t, kit.PythonProgram(t, "python", "follow.py"), way, service.Address, namespace, file)
			caller.holdsTheValue(ctx, "one", "value", always)
			replaceFile(t, file, account.Token())

			var lost followedLine
			caller.Step(ctx, "lost", &lost)
			if lost.Kind != "Unauthenticated" || lost.Connected || lost.Stale == nil || !*lost.Stale {
				t.Errorf("at the end of its token the program prints %+v", lost)
			}
			write.Touch("one", "touched")
			caller.holdsTheValue(ctx, "one", "touched", always)
			write.Create("end", nil)
			var listed struct{ Total int }
			caller.Step(ctx, "listed", &listed)
			caller.Ends(ctx)
		})
	}
}

// TestPythonClient_EndsWithItsFixedToken shows that nothing else ends the stream in the test
// above.
func TestPythonClient_EndsWithItsFixedToken(t *testing.T) {
	t.Parallel()
	ctx, service := kit.DeadlineAfter(t, kit.WaitTimeout+kit.CredentialLife), kit.StartForCallers(t)
	namespace, account := newReader(ctx, t, service)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	file := newTokenFile(t, account.ExpiringToken(time.Now().Add(kit.CredentialLife)))
	caller := startProgram(t, kit.PythonProgram(t, "python", "follow.py"), "fixed", service.Address, namespace, file)
	caller.holdsTheValue(ctx, "one", "value", always)
	var failed followedLine
	caller.Step(ctx, "failed", &failed)
	if failed.Kind != "Unauthenticated" {
		t.Errorf("the program failed with %q", failed.Kind)
	}
	caller.Ends(ctx)
}

// TestPythonClient_ReportsItsLostConnection freezes the link to the service, so that the connection
// looks open.
func TestPythonClient_ReportsItsLostConnection(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, kit.FaultPatience)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			write.Create("one", nil)
			link := harness.StartProxy(t, kit.HostPort(service), harness.None)
			caller := startProgram(t, kit.PythonProgram(t, "python", "follow.py"), way, "http://"+link.Address(), namespace)
			caller.holdsTheValue(ctx, "one", "value", isFresh)

			link.Set(harness.Frozen)
			var lost followedLine
			caller.Step(ctx, "lost", &lost)
			if lost.Connected || lost.Stale == nil || !*lost.Stale {
				t.Errorf("while disconnected the program prints %+v", lost)
			}
			write.Touch("one", "missed")
			link.Set(harness.None)
			caller.holdsTheValue(ctx, "one", "missed", isFresh)
			write.Create("end", nil)
			caller.Ends(ctx)
		})
	}
}

func TestPythonClient_LogOverALostConnectionFails(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l := kit.NewLogging(t)
			link := harness.StartProxy(t, kit.HostPort(service), harness.None)
			caller := startProgram(t, kit.PythonProgram(t, "python", "logs.py"), way, "http://"+link.Address(), l.Namespace, l.Pod)
			l.Log.Write("one\n")
			caller.wantLine(l.Ctx, "one")
			link.Set(harness.Frozen)
			if err := caller.Process.Wait(l.Ctx); err == nil {
				t.Error("the program succeeded")
			}
			if output := caller.Process.Output(); !strings.Contains(output, "kubeconnect.Unavailable") {
				t.Errorf("output:\n%s", output)
			}
		})
	}
}

// newReader creates a namespace, and an account with permission to list and watch its ConfigMaps,
// and blocks until the permission is effective.
func newReader(ctx context.Context, t *testing.T, service *harness.Service) (namespace string, reader kit.Account) {
	t.Helper()
	namespace = kit.NewNamespace(ctx, t, kit.Cluster(t))
	reader = kit.NewAccount(ctx, t, namespace, "reader")
	reader.GrantIn(namespace, "reader", kit.Rule("configmaps", "list", "watch"))
	client := kit.CallingWith(t, service, harness.Protocols[0], reader.Token()).Resources
	kit.Eventually(ctx, t, "the caller has permission to list", func() error { return kit.UncachedCalls(client, namespace)["List"](ctx) })
	return namespace, reader
}

func newTokenFile(t *testing.T, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	replaceFile(t, file, token)
	return file
}

// replaceFile replaces a file atomically, as Kubernetes does with tokens.
func replaceFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}
