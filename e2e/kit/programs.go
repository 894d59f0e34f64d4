package kit

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// Program is a client in another language. It reports each completed step in a line of JSON,
// {"step":"listed","names":["a","b"]}.
type Program struct {
	t       *testing.T
	Process *harness.Process
}

// StartProgram starts a program that is stopped when the test ends.
func StartProgram(t *testing.T, command []string, args ...string) Program {
	t.Helper()
	return Program{t: t, Process: StartProcess(t, command[0], append(command[1:], args...)...)}
}

// Step blocks until the program reports a step, decodes it into the given value, and fails the test
// with the program's output if it never does.
func (p Program) Step(ctx context.Context, step string, into any) {
	p.t.Helper()
	line, err := p.Process.UntilPrints(ctx, func(line string) bool { return stepOf(line) == step })
	if err != nil {
		p.t.Fatalf("step %q: %v", step, err)
	}
	if err := json.Unmarshal([]byte(line), into); err != nil {
		p.t.Fatalf("step %q: %v: %s", step, err, line)
	}
}

// Ends blocks until the program has ended, and fails the test unless its exit code is 0.
func (p Program) Ends(ctx context.Context) {
	p.t.Helper()
	if err := p.Process.Wait(ctx); err != nil {
		p.t.Fatalf("%v; output:\n%s", err, p.Process.Output())
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

// PythonProgram returns a command that runs a program with the interpreter in PYTHON, or with that
// of the checkout, in which the client is installed.
func PythonProgram(t *testing.T, path ...string) []string {
	t.Helper()
	return []string{pythonPath(t), CallerPath(t, path...)}
}

// PythonExample returns a command that runs an example of the Python client, and the path of the
// folder of the examples.
func PythonExample(t *testing.T, file string) (command []string, folder string) {
	t.Helper()
	folder = CheckoutPath(t, "clients", "python", "examples")
	return []string{pythonPath(t), filepath.Join(folder, file)}, folder
}

// KopfExample returns a command that runs an example for kopf in a namespace.
func KopfExample(t *testing.T, file, kubeconfig, namespace string) []string {
	t.Helper()
	path := CheckoutPath(t, "clients", "python", "examples", file)
	return []string{
		"env", "KUBECONFIG=" + kubeconfig,
		pythonPath(t), "-m", "kopf", "run", "--standalone", "--namespace", namespace, path,
	}
}

func pythonPath(t *testing.T) string {
	t.Helper()
	if python := os.Getenv("PYTHON"); python != "" {
		return python
	}
	return CheckoutPath(t, ".venv", "bin", "python")
}

// NodeProgram returns a command that runs a program with Node.js.
func NodeProgram(t *testing.T, path ...string) []string {
	t.Helper()
	return []string{"node", CallerPath(t, path...)}
}

// CallerPath returns the path of a program in e2e/callers.
func CallerPath(t *testing.T, path ...string) string {
	t.Helper()
	return CheckoutPath(t, append([]string{"e2e", "callers"}, path...)...)
}

// CheckoutPath returns the absolute path of a file of the checkout.
func CheckoutPath(t *testing.T, elements ...string) string {
	t.Helper()
	path, err := harness.Path(elements...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// StartProcess starts a program that is stopped when the test ends.
func StartProcess(t *testing.T, path string, args ...string) *harness.Process {
	t.Helper()
	process, err := harness.Start(path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Stop() })
	return process
}
