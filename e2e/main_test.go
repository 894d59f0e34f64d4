package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
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

func run(m *testing.M) int {
	defer stopClusters()
	return m.Run()
}
