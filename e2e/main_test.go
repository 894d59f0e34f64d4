package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

func TestMain(m *testing.M) {
	if os.Getenv("E2E") != "1" {
		fmt.Println("e2e: nothing was run, for these tests need a control plane: `make e2e`, or E2E=1 after `make build`")
		return
	}
	harness.LimitTests()
	os.Exit(run(m))
}

// run also looks for goroutines that a test has left behind, once what they
// might wait for is gone.
func run(m *testing.M) int {
	code := m.Run()
	if os.Getenv(attackVariable) != "" {
		return code // the attacker has left its calls
	}
	stopClusters()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}
