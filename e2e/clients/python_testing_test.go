package clients_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonTesting_ScenariosOfTheFakeServicePassAgainstTheRealOne runs the scenarios by which the
// tests of the Python client show that its fake service, kubeconnect.testing, behaves as the real
// one. The program asks for faults: a fake cuts streams and loses its history, the real service is
// restarted.
func TestPythonTesting_ScenariosOfTheFakeServicePassAgainstTheRealOne(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
			generation, scenarios := "first", 0
			service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0", "--token-generation", generation)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			faults := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			caller := startProgram(t, kit.PythonProgram(t, "python", "blackbox.py"), way, service.Address, namespace)
			for number := 1; ; number++ {
				switch report := reportOf(ctx, caller, number); report.Kind {
				case "scenario":
					scenarios++
					t.Logf("%s: %.1f s", report.Name, report.Seconds)
					if report.Error != "" {
						t.Errorf("%s:\n%s", report.Name, report.Error)
					}
				case "reset":
					generation = report.Name // no token of another generation resumes
					fallthrough
				case "disconnect":
					service.Crash()
					service = harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service), "--token-generation", generation)
					faults.Create(report.Name, nil)
				case "done":
					caller.Ends(ctx)
					if scenarios < 30 {
						t.Errorf("only %d scenarios", scenarios)
					}
					return
				}
			}
		})
	}
}

// scenarioReport is a line of blackbox.py: the result of a scenario, a fault that the program asks
// for, or the end of the program.
type scenarioReport struct {
	Kind, Name, Error string
	Seconds           float64
}

// reportOf blocks until the program has printed its report with a number, from 1 on.
func reportOf(ctx context.Context, caller program, number int) (report scenarioReport) {
	caller.t.Helper()
	caller.Step(ctx, fmt.Sprintf("report-%d", number), &report)
	return report
}
