package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// usage is the CPU time and memory of a process, as the operating system counts them.
type usage struct {
	cpu time.Duration // user and system time since the start of the process
	rss int64         // bytes
}

// clockTick is the unit of CPU time in /proc/PID/stat: USER_HZ, which is 100 on every Linux.
const clockTick = 10 * time.Millisecond

// usageOf returns the usage of a process, from /proc where it exists, and from ps elsewhere.
func usageOf(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if os.IsNotExist(err) {
		return usageByPS(pid)
	}
	if err != nil {
		return usage{}, err
	}
	return readStat(string(stat))
}

// readStat parses /proc/PID/stat. It reads the fields after the command, which is in parentheses and
// can contain any character.
func readStat(stat string) (usage, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return usage{}, fmt.Errorf("cannot parse the state of the process: %q", stat)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	pages, err3 := strconv.ParseInt(fields[21], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return usage{}, fmt.Errorf("cannot parse the state of the process: %q", stat)
	}
	return usage{cpu: time.Duration(user+system) * clockTick, rss: pages * int64(os.Getpagesize())}, nil
}

// peakOf returns the peak memory of a process in bytes, from /proc.
func peakOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return readPeak(string(status))
}

// readPeak parses the line "VmHWM: N kB" of /proc/PID/status and returns its value in bytes.
func readPeak(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("the process's status has no VmHWM: %q", status)
}

func usageByPS(pid int) (usage, error) {
	text, err := exec.Command("ps", "-o", "rss=,time=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return usage{}, fmt.Errorf("running ps for process %d: %w", pid, err)
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return usage{}, fmt.Errorf("cannot parse the output of ps for process %d: %q", pid, text)
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return usage{}, err
	}
	cpu, err := readClock(fields[1])
	return usage{cpu: cpu, rss: kilobytes << 10}, err
}

// readClock parses [[days-]hours:]minutes:seconds, with or without a fraction.
func readClock(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "-")
	if !found {
		days, rest = "0", text
	}
	total, err := strconv.ParseFloat(days, 64)
	parts := strings.Split(rest, ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	for i, unit := range []float64{24, 60, 60} {
		if err != nil || len(parts) != 3 {
			return 0, fmt.Errorf("cannot parse the time %q", text)
		}
		var value float64
		value, err = strconv.ParseFloat(parts[i], 64)
		total = total*unit + value
	}
	return time.Duration(total * float64(time.Second)), err
}

// cpuDuring runs a function and returns the CPU time that each process has used in that time.
func cpuDuring(do func() error, pids ...int) ([]time.Duration, error) {
	before, err := usageOfAll(pids)
	if err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	after, err := usageOfAll(pids)
	if err != nil {
		return nil, err
	}
	used := make([]time.Duration, len(pids))
	for i := range pids {
		used[i] = after[i].cpu - before[i].cpu
	}
	return used, nil
}

func usageOfAll(pids []int) ([]usage, error) {
	used := make([]usage, len(pids))
	for i, pid := range pids {
		var err error
		if used[i], err = usageOf(pid); err != nil {
			return nil, err
		}
	}
	return used, nil
}

const (
	// The memory of a process has settled when it has not changed by more than one percent for
	// settledFor. After settleTimeout it counts as settled in any case.
	settledFor    = 2 * time.Second
	settleTimeout = 15 * time.Second
)

// settledRSS blocks until the memory of a process has settled, and returns it in bytes.
func settledRSS(ctx context.Context, pid int) (int64, error) {
	began, since, last := time.Now(), time.Now(), int64(0)
	for {
		now, err := usageOf(pid)
		if err != nil {
			return 0, err
		}
		if moved := now.rss - last; moved > last/100 || moved < -last/100 {
			since, last = time.Now(), now.rss
		}
		if time.Since(since) > settledFor || time.Since(began) > settleTimeout {
			return now.rss, nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// pause blocks for a duration. It returns the context's cause if ctx ends before.
func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
