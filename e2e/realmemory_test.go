package e2e_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"testing"
)

// threadStacks is what the stacks of the threads may reserve that a service starts under load.
// The system counts what is reserved, and not only what is used.
const threadStacks = 64 << 20

// holdToMemory has the operating system refuse a process that runs more than about the given
// bytes of memory. Go ends a process that is refused memory. Where there is no prlimit, as
// outside of Linux, nothing is refused, and the log of the test says so.
func holdToMemory(t *testing.T, pid, most int) {
	t.Helper()
	reserved, _ := memoryStatus(t, pid, "VmData:")
	limit := reserved + most - residentMemory(t, pid) + threadStacks
	if text, err := exec.Command("prlimit", "--pid", strconv.Itoa(pid), fmt.Sprintf("--data=%d", limit)).CombinedOutput(); err != nil {
		t.Logf("the memory of the service is measured, but not limited by the system: %v %s", err, text)
	}
}
