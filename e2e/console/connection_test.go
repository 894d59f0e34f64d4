package console_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestConnection_ContinuesAfterTheServiceWasUnreachable shows a table, an object and logs while the
// service is killed and started again, and while it is frozen.
func TestConnection_ContinuesAfterTheServiceWasUnreachable(t *testing.T) {
	t.Parallel()
	faults := map[string]struct {
		begin, end func(*testing.T, *harness.Service)
	}{
		"killed": {
			begin: func(_ *testing.T, service *harness.Service) { service.Crash() },
			end: func(t *testing.T, service *harness.Service) {
				harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
			},
		},
		"frozen": {
			begin: func(t *testing.T, service *harness.Service) { must(t, service.Freeze()) },
			end:   func(t *testing.T, service *harness.Service) { must(t, service.Thaw()) },
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const silence = time.Minute // the page notices it much sooner
			l := kit.NewLoggingPods(t)
			ctx, namespace := kit.DeadlineAfter(t, kit.WaitTimeout+silence), l.Namespace
			service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
			log := l.Start("logging", kit.Labels{"app": "logging"}, "main")[0]
			log.Write("before the fault\n")
			kit.RunDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
			browser := startConsole(t, "connection.mjs", service.Address, namespace, "2", "4", artifacts(t), name)

			var shown struct{ Names, Words []string }
			browser.Step(ctx, "live", &shown)
			before := kit.PodNames(ctx, t, namespace, "app=web")
			kit.WantNames(t, "the table shows", shown.Names, before)
			fault.begin(t, service)
			browser.Step(ctx, "lost", &shown)
			kit.WantNames(t, "without the service the table shows", shown.Names, before)
			kit.ScaleDeployment(ctx, t, namespace, "web", 4)
			log.Write("after the fault\n")
			fault.end(t, service)
			browser.Step(ctx, "live again", &shown)
			kit.WantNames(t, "after the reconnection the table shows", shown.Names, kit.PodNames(ctx, t, namespace, "app=web"))
			browser.Ends(ctx)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestConnection_SaysThatTheDataIsOutdated freezes the connection of the service to the API server.
func TestConnection_SaysThatTheDataIsOutdated(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	proxy := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, proxy.Address()))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createPod(ctx, t, namespace, "one", nil)
	browser := startConsole(t, "stale.mjs", service.Address, namespace, "one", artifacts(t))

	var pages looked
	browser.Step(ctx, "live", &pages)
	proxy.Set(harness.Refused)
	browser.Step(ctx, "stale", &pages)
	pages.check(t)
	proxy.Set(harness.None)
	browser.Step(ctx, "live again", &pages)
	browser.Ends(ctx)
}
