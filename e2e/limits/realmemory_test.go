package limits_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// threadStacks is the memory that the stacks of the threads of a service under load may reserve.
// The operating system counts reserved memory, and not only used memory.
const threadStacks = 64 << 20

// holdToMemory limits the memory of a running process to about the given number of bytes. Go ends a
// process that cannot allocate memory. Without prlimit, as outside of Linux, there is no limit, and
// the test's log reports that.
func holdToMemory(t *testing.T, pid, most int) {
	t.Helper()
	reserved, _ := memoryStatus(t, pid, "VmData:")
	limit := reserved + most - kit.ResidentMemory(t, pid) + threadStacks
	if text, err := exec.Command("prlimit", "--pid", strconv.Itoa(pid), fmt.Sprintf("--data=%d", limit)).CombinedOutput(); err != nil {
		t.Logf("the memory of the service is measured, but not limited by the system: %v %s", err, text)
	}
}
