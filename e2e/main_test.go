package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("E2E") != "1" {
		fmt.Println("e2e: nothing was run, for these tests need a control plane: `make e2e`, or E2E=1 after `make build`")
		return
	}
	letTestsWaitTogether()
	os.Exit(run(m))
}

// letTestsWaitTogether runs more tests at a time than there are processors, for
// most of a test's time is waiting for the control plane.
func letTestsWaitTogether() {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
}

// run also looks for goroutines that a test has left behind, once what they
// might wait for is gone.
func run(m *testing.M) int {
	code := m.Run()
	stopClusters()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}
