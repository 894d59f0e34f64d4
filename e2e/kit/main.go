package kit

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// Main is the body of TestMain of a package of end-to-end tests. Without E2E=1 it runs no test.
// After the tests it stops the shared control planes and reports leaked goroutines, except for those of the options.
func Main(m *testing.M, ignored ...goleak.Option) {
	if os.Getenv("E2E") != "1" {
		fmt.Println("skipped, because these tests need a control plane: run make e2e, or set E2E=1 after make build")
		return
	}
	harness.LimitTests()
	os.Exit(run(m, ignored))
}

// run checks for leaked goroutines after the processes that they may wait for have ended.
func run(m *testing.M, ignored []goleak.Option) int {
	code := m.Run()
	stopClusters()
	if err := goleak.Find(ignored...); code == 0 && err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}
