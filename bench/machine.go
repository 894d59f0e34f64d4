package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// thisMachine describes the machine and the Go version of the measurements.
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

// memoryBytes returns the memory of the machine, or 0 if neither /proc/meminfo nor sysctl reports it.
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
