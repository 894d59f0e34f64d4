package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// program is a client in another language. It reports each completed step in a line of JSON,
// {"step":"listed","names":["a","b"]}.
type program struct {
	t       *testing.T
	process *harness.Process
}

// startProgram starts a program that is stopped when the test ends.
func startProgram(t *testing.T, command []string, args ...string) program {
	t.Helper()
	return program{t: t, process: startProcess(t, command[0], append(command[1:], args...)...)}
}

// step blocks until the program reports a step, decodes it into the given value, and fails the test
// with the program's output if it never does.
func (p program) step(ctx context.Context, step string, into any) {
	p.t.Helper()
	line, err := p.process.UntilPrints(ctx, func(line string) bool { return stepOf(line) == step })
	if err != nil {
		p.t.Fatalf("step %q: %v", step, err)
	}
	if err := json.Unmarshal([]byte(line), into); err != nil {
		p.t.Fatalf("step %q: %v: %s", step, err, line)
	}
}

// ends blocks until the program has ended, and fails the test unless its exit code is 0.
func (p program) ends(ctx context.Context) {
	p.t.Helper()
	if err := p.process.Wait(ctx); err != nil {
		p.t.Fatalf("%v; output:\n%s", err, p.process.Output())
	}
}

// stepOf returns the step that a line reports; empty if the line is not a step.
func stepOf(line string) string {
	var report struct{ Step string }
	if json.Unmarshal([]byte(line), &report) != nil {
		return ""
	}
	return report.Step
}

// pythonProgram returns a command that runs a program with the interpreter in PYTHON, or with that
// of the checkout, in which the client is installed.
func pythonProgram(t *testing.T, path ...string) []string {
	t.Helper()
	python := os.Getenv("PYTHON")
	if python == "" {
		python = filepath.Join(harness.Root, ".venv", "bin", "python")
	}
	return []string{python, callerPath(path...)}
}

// nodeProgram returns a command that runs a program with Node.js.
func nodeProgram(path ...string) []string {
	return []string{"node", callerPath(path...)}
}

func callerPath(path ...string) string {
	return filepath.Join(append([]string{"callers"}, path...)...)
}
