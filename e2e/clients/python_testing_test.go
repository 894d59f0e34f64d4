package clients_test

import (
	"encoding/json"
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
			service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			faults := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			caller := startProgram(t, kit.PythonProgram(t, "python", "blackbox.py"), way, service.Address, namespace)
			generation, scenarios := "first", 0
			for {
				var report struct{ Step, Name, Error, Done string }
				line, err := caller.Process.UntilPrints(ctx, isStep)
				if err == nil {
					err = json.Unmarshal([]byte(line), &report)
				}
				if err != nil {
					t.Fatal(err)
				}
				switch report.Step {
				case "scenario":
					scenarios++
					if report.Error != "" {
						t.Errorf("%s:\n%s", report.Name, report.Error)
					}
				case "reset":
					generation = report.Done // no token of another generation resumes
					fallthrough
				case "disconnect":
					service.Crash()
					service = harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service), "--token-generation", generation)
					faults.Create(report.Done, nil)
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

// isStep reports whether a program has printed a step.
func isStep(line string) bool {
	var report struct{ Step string }
	return json.Unmarshal([]byte(line), &report) == nil && report.Step != ""
}
