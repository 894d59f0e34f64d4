package clients_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonCheck_Store compares stores and handlers with the documentation and the cluster. Streams
// of one service cannot resume at the other one.
func TestPythonCheck_Store(t *testing.T) {
	t.Parallel()
	other := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--token-generation", "other")
	runChecks(t, "check_store.py", other)
}

// TestPythonCheck_Controller compares controllers and leader election with the documentation, also
// when the programs that run them are killed or suspended.
func TestPythonCheck_Controller(t *testing.T) {
	t.Parallel()
	runChecks(t, "check_controller.py", nil)
}

// TestPythonCheck_Queue compares work queues with the documentation.
func TestPythonCheck_Queue(t *testing.T) {
	t.Parallel()
	runChecks(t, "check_queue.py", nil)
}

// TestPythonCheck_Calls compares waits, applies, operations, errors and messages with the
// documentation.
func TestPythonCheck_Calls(t *testing.T) {
	t.Parallel()
	runChecks(t, "check_calls.py", nil)
}

// TestPythonCheck_Records compares records and data frames with the documentation.
func TestPythonCheck_Records(t *testing.T) {
	t.Parallel()
	runChecks(t, "check_records.py", nil)
}

// TestPythonCheck_Permissions compares what callers receive who may read some namespaces only with
// the documentation, while their permissions change.
func TestPythonCheck_Permissions(t *testing.T) {
	t.Parallel()
	runChecks(t, "check_permissions.py", kit.StartForCallers(t))
}

// checkedLine is a line of a program check_*.py.
type checkedLine struct {
	Check, Way string
	Failure    *string
}

// runChecks runs a program of checks with two services, and fails the test for each check that has
// failed.
func runChecks(t *testing.T, file string, other *harness.Service) {
	t.Helper()
	ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	if other == nil {
		other = service
	}
	caller := startProgram(t, kit.PythonProgram(t, "python", file), service.Address, other.Address, namespace)
	ended := caller.Process.Wait(ctx)
	passed := 0
	for line := range strings.Lines(caller.Process.Output()) {
		var checked checkedLine
		switch err := json.Unmarshal([]byte(line), &checked); {
		case err != nil || checked.Check == "":
		case checked.Failure != nil:
			t.Errorf("%s with %s: %s", checked.Check, checked.Way, *checked.Failure)
		default:
			passed++
		}
	}
	if ended != nil || passed == 0 {
		t.Errorf("%v; %d checks have passed; output:\n%s", ended, passed, caller.Process.Output())
	}
}
