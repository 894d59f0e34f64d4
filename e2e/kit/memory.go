package kit

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// ResidentMemory returns the memory of a process as the operating system counts it, in bytes.
func ResidentMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	kibibytes, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return kibibytes << 10
}
