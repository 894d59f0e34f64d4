package main

import (
	"context"
	"encoding/json"
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
	pythonTimeout = 3 * time.Minute
	// A program is idle if it has used less than idleCPU in idleTime.
	idleCPU  = 20 * time.Millisecond
	idleTime = 400 * time.Millisecond
)

// runPython runs a program of bench/python to its end, and returns what it prints.
func runPython(ctx context.Context, name string, arguments ...string) (string, error) {
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

// pythonNamespace is the namespace of a task, and the number of its pods.
type pythonNamespace struct {
	name string
	pods int
}

// pythonProcess is a running program of bench/python.
type pythonProcess struct {
	*harness.Process
	name string
}

// pythonReport is a line that a program prints.
type pythonReport struct {
	Synced bool    `json:"synced"`
	CPU    float64 `json:"cpu"` // seconds
	Count  int     `json:"count"`
}

// startPython starts a task. The caller must call stop.
func (l *lab) startPython(s *service, name, task string, in pythonNamespace, changes ...int) (*pythonProcess, error) {
	arguments := []string{pythonEnvironment, pythonInterpreter(), pythonPath(name), task,
		l.cluster.kubeconfig(), "https://" + s.address, l.cluster.file("pki", "ca.crt"), in.name, strconv.Itoa(in.pods)}
	for _, count := range changes {
		arguments = append(arguments, strconv.Itoa(count))
	}
	process, err := harness.Start("env", arguments...)
	return &pythonProcess{Process: process, name: name}, err
}

func (p *pythonProcess) stop() { _ = p.Stop() }

// report blocks until the program has printed a report for which match is true, and returns the first.
func (p *pythonProcess) report(ctx context.Context, match func(pythonReport) bool) (found pythonReport, err error) {
	ctx, cancel := context.WithTimeout(ctx, pythonTimeout)
	defer cancel()
	_, err = p.UntilPrints(ctx, func(line string) bool {
		found = pythonReport{}
		return json.Unmarshal([]byte(line), &found) == nil && match(found)
	})
	return found, err
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
