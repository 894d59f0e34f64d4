package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// pythonTimeout is the time limit of one report of a program.
	pythonTimeout = 90 * time.Second
	// A program is idle if it has used less than idleCPU in idleTime.
	idleCPU  = 20 * time.Millisecond
	idleTime = 400 * time.Millisecond
)

// errPythonStopped is the error of a program that has exceeded pythonTimeout and was stopped.
var errPythonStopped = fmt.Errorf("stopped, because it took more than %s", pythonTimeout)

// runPython runs a program of bench/python to its end, and returns what it prints.
func runPython(ctx context.Context, name string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pythonTimeout)
	defer cancel()
	arguments = append([]string{pythonEnvironment, pythonInterpreter(), pythonPath(name)}, arguments...)
	printed, err := exec.CommandContext(ctx, "env", arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(printed)), nil
}

// pythonEnvironment makes Python store compiled modules, as it does by default.
const pythonEnvironment = "PYTHONDONTWRITEBYTECODE="

func pythonInterpreter() string { return program("BENCH_PYTHON", ".cache/bench-python/bin/python") }

func pythonPath(name string) string { return filepath.Join("bench", "python", name) }

// pythonProcess is a running program of bench/python.
type pythonProcess struct {
	*harness.Process
	name string
}

// pythonReport is a line that a program prints.
type pythonReport struct {
	Imported int64   `json:"imported"` // bytes of memory after the imports, in the first report
	Synced   bool    `json:"synced"`
	CPU      float64 `json:"cpu"`     // seconds
	Changes  int     `json:"changes"` // handled by a store
	Count    int     `json:"count"`   // of the pods that were read
	Checksum int64   `json:"checksum"`
}

// startPython starts a task with the pods of a namespace. The caller must call stop.
func (l *lab) startPython(s *service, name, task, namespace string, pods int, changes ...int) (*pythonProcess, error) {
	arguments := []string{pythonEnvironment, pythonInterpreter(), pythonPath(name), task,
		l.cluster.kubeconfig(), "https://" + s.address, l.cluster.file("pki", "ca.crt"), namespace, strconv.Itoa(pods)}
	for _, count := range changes {
		arguments = append(arguments, strconv.Itoa(count))
	}
	process, err := harness.Start("env", arguments...)
	return &pythonProcess{Process: process, name: name}, err
}

func (p *pythonProcess) stop() { _ = p.Stop() }

// report blocks until the program has printed a report for which match is true, and returns the first.
// It returns errPythonStopped after pythonTimeout.
func (p *pythonProcess) report(ctx context.Context, match func(pythonReport) bool) (found pythonReport, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, pythonTimeout, errPythonStopped)
	defer cancel()
	_, err = p.UntilPrints(limited, func(line string) bool {
		found = pythonReport{}
		return json.Unmarshal([]byte(line), &found) == nil && match(found)
	})
	if err != nil && errors.Is(context.Cause(limited), errPythonStopped) {
		err = errPythonStopped
	}
	return found, err
}

// synced blocks until the program has received all pods.
func (p *pythonProcess) synced(ctx context.Context) error {
	_, err := p.report(ctx, func(r pythonReport) bool { return r.Synced })
	return err
}

// read blocks until the program has read pods after the previous ones, and returns its report. It
// returns an error if the program has read others than want.
func (p *pythonProcess) read(ctx context.Context, want podsRead) (pythonReport, error) {
	report, err := p.report(ctx, func(r pythonReport) bool { return r.Count == want.count && r.Checksum != 0 })
	if err == nil && report.Checksum != want.checksum {
		err = fmt.Errorf("%s has read other pods than there are: %d with the checksum %d, want %d",
			p.name, report.Count, report.Checksum, want.checksum)
	}
	return report, err
}

// importedMB returns the memory of the program after its imports, in megabytes.
func (p *pythonProcess) importedMB(ctx context.Context) (float64, error) {
	report, err := p.report(ctx, func(r pythonReport) bool { return r.Imported > 0 })
	return megabytes(report.Imported), err
}

// measureMemory sets the memory of a cost.
func (p *pythonProcess) measureMemory(ctx context.Context, cost *pythonCost) error {
	peak, err1 := peakMB(p.PID())
	imported, err2 := p.importedMB(ctx)
	cost.imported, cost.peak = imported, peak-imported
	return errors.Join(err1, err2)
}

// untilIdle blocks until the program has handled all that it has received.
func (p *pythonProcess) untilIdle(ctx context.Context) error {
	for {
		used, err := cpuDuring(func() error { return pause(ctx, idleTime) }, p.PID())
		if err != nil || used[0] < idleCPU {
			return err
		}
	}
}
