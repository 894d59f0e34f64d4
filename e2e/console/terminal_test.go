package console_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestTerminal_IsForCallersWhoMayOpenIt types commands into a terminal, ends its shell and connects again. A caller without the
// permission sees no terminal, and nobody does if the service passes on no connections into containers.
func TestTerminal_IsForCallersWhoMayOpenIt(t *testing.T) {
	t.Parallel()
	pods, service := kit.NewLoggingPods(t), kit.StartForCallers(t)
	reads := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--kube-api", "read")
	pods.Start("one", nil, "main")
	operator := kit.NewAccount(pods.Ctx, t, pods.Namespace, "operator")
	operator.GrantIn(pods.Namespace, "operator", kit.Rule("pods", "get", "list", "watch"), kit.Rule("pods/exec", "create", "get"))
	reader := kit.NewAccount(pods.Ctx, t, pods.Namespace, "reader")
	reader.GrantIn(pods.Namespace, "reader", kit.Rule("pods", "get", "list", "watch"), kit.Rule("pods/log", "get"))
	browser := startConsole(t, "terminal.mjs", service.Address, reads.Address, pods.Namespace, "one", operator.Token(), reader.Token(), artifacts(t))

	var step struct {
		State, Before, After string
		Terminals            int
		Faults               []string
	}
	if browser.Step(pods.Ctx, "typed", &step); step.State != "Connected" {
		t.Errorf("the state of a terminal in use is %q", step.State)
	}
	if browser.Step(pods.Ctx, "resized", &step); step.After == step.Before {
		t.Errorf("the terminal has %s characters also in a smaller page", step.After)
	}
	if browser.Step(pods.Ctx, "looked at", &step); len(step.Faults) > 0 {
		t.Errorf("the terminal has faults: %q", step.Faults)
	}
	browser.Step(pods.Ctx, "ended", &step)
	kit.WantWords(t, step.State, "ended with exit code 3")
	if browser.Step(pods.Ctx, "again", &step); step.State != "Connected" {
		t.Errorf("the state of a terminal that has connected again is %q", step.State)
	}
	for _, name := range []string{"reader", "reads only"} {
		if browser.Step(pods.Ctx, name, &step); step.Terminals > 0 {
			t.Errorf("%s: the page offers a terminal", name)
		}
	}
	browser.Ends(pods.Ctx)
}
