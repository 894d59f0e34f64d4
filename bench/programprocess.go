package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// programTimeout is the time limit of one report of a program.
	programTimeout = 90 * time.Second
	// A program is idle if it has used less than idleCPU in idleTime.
	idleCPU  = 20 * time.Millisecond
	idleTime = 400 * time.Millisecond
)

// errProgramStopped is the error of a program that has exceeded programTimeout and was stopped.
var errProgramStopped = fmt.Errorf("stopped, because it took more than %s", programTimeout)

// run runs a program of the language to its end, and returns what it prints.
func (l language) run(ctx context.Context, file string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	command := append(l.commandOf(file), arguments...)
	printed, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return strings.TrimSpace(string(printed)), nil
}

// commandOf returns the command that runs a program without arguments.
func (l language) commandOf(file string) []string {
	return append(slices.Clone(l.command), filepath.Join(l.folder, file))
}

// programProcess is a running program.
type programProcess struct {
	*harness.Process
	program clientProgram
}

// programReport is a line that a program prints.
type programReport struct {
	Imported int64   `json:"imported"` // bytes of memory after the imports, in the first report
	Synced   bool    `json:"synced"`
	CPU      float64 `json:"cpu"`     // seconds
	Changes  int     `json:"changes"` // handled by a store
	Count    int     `json:"count"`   // of the pods that were read
	Checksum int64   `json:"checksum"`
}

// start starts a task with the pods of a namespace. The caller must call stop.
func (p *programs) start(
	program clientProgram, task, namespace string, pods int, changes ...int,
) (*programProcess, error) {
	command := append(p.commandOf(program.file), task,
		p.cluster.kubeconfig(), "https://"+p.service.address, p.cluster.file("pki", "ca.crt"), namespace, strconv.Itoa(pods))
	for _, count := range changes {
		command = append(command, strconv.Itoa(count))
	}
	process, err := harness.Start(command[0], command[1:]...)
	return &programProcess{Process: process, program: program}, err
}

func (p *programProcess) stop() { _ = p.Stop() }

// report blocks until the program has printed a report for which match is true, and returns the first.
// It returns errProgramStopped after programTimeout.
func (p *programProcess) report(ctx context.Context, match func(programReport) bool) (found programReport, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, programTimeout, errProgramStopped)
	defer cancel()
	_, err = p.UntilPrints(limited, func(line string) bool {
		found = programReport{}
		return json.Unmarshal([]byte(line), &found) == nil && match(found)
	})
	if err != nil && errors.Is(context.Cause(limited), errProgramStopped) {
		err = errProgramStopped
	}
	return found, err
}

// synced blocks until the program has received all pods, and returns its report.
func (p *programProcess) synced(ctx context.Context) (programReport, error) {
	return p.report(ctx, func(r programReport) bool { return r.Synced })
}

// read blocks until the program has read pods after the previous ones, and returns its report. It
// returns an error if the program has read others than want.
func (p *programProcess) read(ctx context.Context, want podsRead) (programReport, error) {
	report, err := p.report(ctx, func(r programReport) bool { return r.Count == want.count && r.Checksum != 0 })
	if err == nil && report.Checksum != want.checksum {
		err = fmt.Errorf("%s has read other pods than there are: %d with the checksum %d, want %d",
			p.program.file, report.Count, report.Checksum, want.checksum)
	}
	return report, err
}

// importedMB returns the memory of the program after its imports, in megabytes.
func (p *programProcess) importedMB(ctx context.Context) (float64, error) {
	report, err := p.report(ctx, func(r programReport) bool { return r.Imported > 0 })
	return megabytes(report.Imported), err
}

// measureMemory sets the memory of a cost.
func (p *programProcess) measureMemory(ctx context.Context, cost *programCost) error {
	peak, err1 := peakMB(p.PID())
	imported, err2 := p.importedMB(ctx)
	cost.imported, cost.peak = imported, peak-imported
	return errors.Join(err1, err2)
}

// untilIdle blocks until the program has handled all that it has received.
func (p *programProcess) untilIdle(ctx context.Context) error {
	for {
		used, err := cpuDuring(func() error { return pause(ctx, idleTime) }, p.PID())
		if err != nil || used[0] < idleCPU {
			return err
		}
	}
}
