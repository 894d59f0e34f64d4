package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// followed is a line of a program that follows ConfigMaps: its objects, or that it has lost a
// stream.
type followed struct {
	Step      string
	Kind      string
	Data      map[string]map[string]string
	Resets    int
	Connected bool
	Stale     *bool
}

// holdsTheValue blocks until the program has a ConfigMap with a value and a condition is true of
// its line, and fails the test unless its watch has begun once.
func (p program) holdsTheValue(ctx context.Context, name, value string, condition func(followed) bool) {
	p.t.Helper()
	_, err := p.process.UntilPrints(ctx, func(line string) bool {
		var printed followed
		if json.Unmarshal([]byte(line), &printed) != nil || printed.Step != "holds" {
			return false
		}
		if printed.Resets != 1 {
			p.t.Errorf("%d resets, want one", printed.Resets)
		}
		return printed.Data[name]["key"] == value && condition(printed)
	})
	if err != nil {
		p.t.Fatalf("%v: the program does not have %q in %q", err, value, name)
	}
}

func always(followed) bool { return true }

// isFresh reports whether the program is connected and its objects are current.
func isFresh(printed followed) bool {
	return printed.Connected && printed.Stale != nil && !*printed.Stale
}

// TestPythonClient_ContinuesAfterItsTokenIsRenewed lets a caller's token expire while it
// watches. The token file has a new one by then.
func TestPythonClient_ContinuesAfterItsTokenIsRenewed(t *testing.T) {
	t.Parallel()
	service := startForCallers(t)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := deadlineAfter(t, patience+credentialLife)
			namespace, account := newReader(ctx, t, service)
			write := configMapsIn(ctx, t, cluster(t), namespace)
			write.create("one", nil)
			file := newTokenFile(t, account.expiringToken(time.Now().Add(credentialLife)))
			caller := startProgram(t, pythonProgram(t, "python", "follow.py"), way, service.Address, namespace, file)
			caller.holdsTheValue(ctx, "one", "value", always)
			replaceFile(t, file, account.token())

			var lost followed
			caller.step(ctx, "lost", &lost)
			if lost.Kind != "Unauthenticated" || lost.Connected || lost.Stale == nil || !*lost.Stale {
				t.Errorf("at the end of its token the program prints %+v", lost)
			}
			write.touch("one", "touched")
			caller.holdsTheValue(ctx, "one", "touched", always)
			write.create("end", nil)
			var listed struct{ Total int }
			caller.step(ctx, "listed", &listed)
			caller.ends(ctx)
		})
	}
}

// TestPythonClient_EndsWithItsFixedToken shows that nothing else ends the stream in the test
// above.
func TestPythonClient_EndsWithItsFixedToken(t *testing.T) {
	t.Parallel()
	ctx, service := deadlineAfter(t, patience+credentialLife), startForCallers(t)
	namespace, account := newReader(ctx, t, service)
	configMapsIn(ctx, t, cluster(t), namespace).create("one", nil)
	file := newTokenFile(t, account.expiringToken(time.Now().Add(credentialLife)))
	caller := startProgram(t, pythonProgram(t, "python", "follow.py"), "fixed", service.Address, namespace, file)
	caller.holdsTheValue(ctx, "one", "value", always)
	var failed followed
	caller.step(ctx, "failed", &failed)
	if failed.Kind != "Unauthenticated" {
		t.Errorf("the program failed with %q", failed.Kind)
	}
	caller.ends(ctx)
}

// TestPythonClient_ReportsItsLostConnection freezes the link to the service, so that the connection
// looks open.
func TestPythonClient_ReportsItsLostConnection(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := deadlineAfter(t, faultPatience)
			namespace := newNamespace(ctx, t, cluster(t))
			write := configMapsIn(ctx, t, cluster(t), namespace)
			write.create("one", nil)
			link := harness.StartProxy(t, hostPort(service), harness.None)
			caller := startProgram(t, pythonProgram(t, "python", "follow.py"), way, "http://"+link.Address(), namespace)
			caller.holdsTheValue(ctx, "one", "value", isFresh)

			link.Set(harness.Frozen)
			var lost followed
			caller.step(ctx, "lost", &lost)
			if lost.Connected || lost.Stale == nil || !*lost.Stale {
				t.Errorf("while disconnected the program prints %+v", lost)
			}
			write.touch("one", "missed")
			link.Set(harness.None)
			caller.holdsTheValue(ctx, "one", "missed", isFresh)
			write.create("end", nil)
			caller.ends(ctx)
		})
	}
}

func TestPythonClient_LogOverALostConnectionFails(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l := newLogging(t)
			link := harness.StartProxy(t, hostPort(service), harness.None)
			caller := startProgram(t, pythonProgram(t, "python", "logs.py"), way, "http://"+link.Address(), l.namespace, l.pod)
			l.log.Write("one\n")
			caller.wantLine(l.ctx, "one")
			link.Set(harness.Frozen)
			if err := caller.process.Wait(l.ctx); err == nil {
				t.Error("the program succeeded")
			}
			if output := caller.process.Output(); !strings.Contains(output, "kubeconnect.Unavailable") {
				t.Errorf("output:\n%s", output)
			}
		})
	}
}

// newReader creates a namespace, and an account with permission to list and watch its ConfigMaps,
// and blocks until the permission is effective.
func newReader(ctx context.Context, t *testing.T, service *harness.Service) (namespace string, reader account) {
	t.Helper()
	namespace = newNamespace(ctx, t, cluster(t))
	reader = newAccount(ctx, t, namespace, "reader")
	reader.grantIn(namespace, "reader", rule("configmaps", "list", "watch"))
	client := callingWith(t, service, harness.Protocols[0], reader.token()).Resources
	eventually(ctx, t, "the caller has permission to list", func() error { return callsOn(client, namespace)["List"](ctx) })
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
