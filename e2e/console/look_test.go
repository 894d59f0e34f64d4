package console_test

import (
	"encoding/json"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// looked is what a program reports that has looked at pages.
type looked struct {
	Pages  int
	Faults []string
}

// check fails the test if a page has a fault.
func (l looked) check(t *testing.T) {
	t.Helper()
	if l.Pages == 0 {
		t.Error("no page was looked at")
	}
	for _, fault := range l.Faults {
		t.Error(fault)
	}
}

// TestConsole_IsAccessible checks every page with axe, light and dark, on a desktop and on a small
// screen. The screenshots are artifacts.
func TestConsole_IsAccessible(t *testing.T) {
	t.Parallel()
	ctx, l := kit.DeadlineAfter(t, 3*kit.WaitTimeout), kit.NewLoggingPods(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	kit.RunDeployment(ctx, t, l.Namespace, "web", 2, kit.Labels{})
	createCrashingPod(ctx, t, l.Namespace, "crashing")
	createPod(ctx, t, l.Namespace, "pending", nil)
	log := l.Start("logging", kit.Labels{"app": "logging"}, "main")[0]
	log.Write("first line\n2026-01-02 ERROR second line\nWARN third line\n")
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), l.Namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", l.Namespace, "gadget", map[string]any{"color": "red"})
	content, err := json.Marshal(map[string]string{
		"namespace": l.Namespace, "deployment": "web", "pod": "crashing", "logging": "logging",
		"custom": gadgets.Name(), "labels": "app=logging",
	})
	must(t, err)
	browser := startConsole(t, "look.mjs", service.Address, string(content), artifacts(t))

	var pages looked
	browser.Step(ctx, "looked", &pages)
	pages.check(t)
	browser.Ends(ctx)
}

func TestConsole_IsAccessibleWithoutPermissions(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.NewAccount(ctx, t, namespace, "nobody")
	browser := startConsole(t, "states.mjs", service.Address, namespace, caller.Token(), artifacts(t))

	var pages looked
	browser.Step(ctx, "looked", &pages)
	pages.check(t)
	browser.Ends(ctx)
}
