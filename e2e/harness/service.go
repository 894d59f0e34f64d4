package harness

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// shownLog is how many of the last lines of its log a failed test shows.
const shownLog = 80

// serviceStart is how long the service may take until it accepts connections.
var serviceStart = Patience(time.Minute)

// Service is a kubeconnect that runs.
type Service struct {
	*Process
	// Address is where it serves, as a URL without a slash at the end.
	Address string
}

var servingLine = regexp.MustCompile(`msg=serving\b.*\baddress="?(https?://[^\s"]+)`)

// StartService starts the service on a port of its own, without authentication
// unless the flags say something else, and stops it when the test ends. It must
// end in order then; if the test has failed its log is shown.
func StartService(t testing.TB, kubeconfig string, flags ...string) *Service {
	t.Helper()
	process := RunService(t, append([]string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "none"}, flags...)...)
	t.Cleanup(func() {
		if err := process.Stop(); err != nil {
			t.Errorf("the service ended with: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), serviceStart)
	defer cancel()
	line, err := process.UntilPrints(ctx, servingLine.MatchString)
	if err != nil {
		t.Fatal(err)
	}
	return &Service{Process: process, Address: servingLine.FindStringSubmatch(line)[1]}
}

// RunService runs the service with exactly these flags. When the test ends it is
// stopped, and if the test has failed its log is shown.
func RunService(t testing.TB, flags ...string) *Process {
	t.Helper()
	path, err := Binary("KUBECONNECT_BIN", "kubeconnect")
	if err != nil {
		t.Fatal(err)
	}
	process, err := Start(path, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Stop()
		if t.Failed() {
			t.Logf("the service's log ends:\n%s", lastLines(process.Output(), shownLog))
		}
	})
	return process
}

func lastLines(text string, count int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
