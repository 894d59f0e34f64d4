// Package console_test uses the console in a real Chromium: what people do with it, what it shows
// when the service or the cluster fails, and that every page is accessible.
package console_test

import (
	"os"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// startConsole starts a program of e2e/callers/console.
func startConsole(t *testing.T, file string, args ...string) kit.Program {
	t.Helper()
	return kit.StartProgram(t, kit.NodeProgram(t, "console", file), args...)
}

// artifacts creates the directory for screenshots and returns its path.
func artifacts(t *testing.T) string {
	t.Helper()
	folder, err := harness.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
