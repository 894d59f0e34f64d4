package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// thisMachine says what the figures were measured on.
func thisMachine() string {
	return fmt.Sprintf("%d cores, %s of memory, %s/%s, %s",
		runtime.NumCPU(), memoryOfMachine(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func memoryOfMachine() string {
	if bytes := memoryBytes(); bytes > 0 {
		return fmt.Sprintf("%.0f GiB", float64(bytes)/(1<<30))
	}
	return "an unknown amount"
}

// memoryBytes is 0 where the system does not say it in one of the two known ways.
func memoryBytes() int64 {
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		fields := strings.Fields(string(text)) // MemTotal: N kB …
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
		return kilobytes << 10
	}
	text, err := exec.Command("sysctl", "-n", "hw.memsize").Output()
	if err != nil {
		return 0
	}
	bytes, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return bytes
}
