package harness

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// shownLog is the number of last lines of its log that a failed test prints.
const shownLog = 80

// serviceStart bounds the time until the service accepts connections.
var serviceStart = Patience(time.Minute)

// Service is a running kubeconnect.
type Service struct {
	*Process
	// Address is the URL of the service, without a trailing slash.
	Address string
}

var servingLine = regexp.MustCompile(`msg=serving\b.*\baddress="?(https?://[^\s"]+)`)

// StartService starts the service on a free port, without authentication unless the flags set it,
// and stops it when the test ends. The test fails if the service does not exit cleanly. The log of
// a failed test's service is printed.
func StartService(t testing.TB, kubeconfig string, flags ...string) *Service {
	t.Helper()
	service := startService(t, kubeconfig, "127.0.0.1:0", flags...)
	Cleanup(t, func() {
		if err := service.Stop(); err != nil {
			t.Errorf("the service exited: %v", err)
		}
	})
	return service
}

// startService starts the service and blocks until it accepts connections.
func startService(t testing.TB, kubeconfig, listen string, flags ...string) *Service {
	t.Helper()
	process := RunService(t, append([]string{"--kubeconfig", kubeconfig, "--listen", listen, "--auth", "none"}, flags...)...)
	ctx, cancel := context.WithTimeout(t.Context(), serviceStart)
	defer cancel()
	line, err := process.UntilPrints(ctx, servingLine.MatchString)
	if err != nil {
		t.Fatal(err)
	}
	return &Service{Process: process, Address: servingLine.FindStringSubmatch(line)[1]}
}

// RunService runs the service with exactly these flags. When the test ends the service is stopped,
// and if the test has failed its log is printed.
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
	Cleanup(t, func() {
		_ = process.Stop()
		if t.Failed() {
			t.Logf("end of the service's log:\n%s", lastLines(process.Output(), shownLog))
		}
	})
	return process
}

func lastLines(text string, count int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
