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
		fmt.Println("e2e: skipped, because these tests need a control plane: run `make e2e`, or set E2E=1 after `make build`")
		return
	}
	harness.LimitTests()
	os.Exit(run(m))
}

// run also checks for leaked goroutines, after the processes that they may wait for have ended.
func run(m *testing.M) int {
	code := m.Run()
	if os.Getenv(attackVariable) != "" {
		return code // the attacker has abandoned its calls
	}
	stopClusters()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}
