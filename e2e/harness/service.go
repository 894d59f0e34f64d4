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

// freePort is the address of a listener on a free port.
const freePort = "127.0.0.1:0"

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
	return StartServiceWith(t, nil, kubeconfig, flags...)
}

// StartServiceWith is [StartService] with additional environment variables.
func StartServiceWith(t testing.TB, environment []string, kubeconfig string, flags ...string) *Service {
	t.Helper()
	return stopped(t, startService(t, environment, kubeconfig, freePort, flags...))
}

// Eager is an environment variable that makes a Go process collect garbage when its heap has grown by a
// tenth. Most of its resident memory is then live: the amount of garbage depends on the machine's load.
const Eager = "GOGC=10"

// StartEagerService is [StartService] with the environment variable [Eager].
func StartEagerService(t testing.TB, kubeconfig string, flags ...string) *Service {
	t.Helper()
	return StartServiceWith(t, []string{Eager}, kubeconfig, flags...)
}

// stopped stops a service when the test ends, and reports its exit error.
func stopped(t testing.TB, service *Service) *Service {
	t.Helper()
	Cleanup(t, func() {
		if err := service.Stop(); err != nil {
			t.Errorf("the service exited: %v", err)
		}
	})
	return service
}

// startService starts the service with additional environment variables, and blocks until it accepts
// connections.
func startService(t testing.TB, environment []string, kubeconfig, listen string, flags ...string) *Service {
	t.Helper()
	process := runService(t, environment, append([]string{"--kubeconfig", kubeconfig, "--listen", listen, "--auth", "none"}, flags...)...)
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
	return runService(t, nil, flags...)
}

// runService is RunService with additional environment variables.
func runService(t testing.TB, environment []string, flags ...string) *Process {
	t.Helper()
	path, err := Binary("KUBECONNECT_BIN", "kubeconnect")
	if err != nil {
		t.Fatal(err)
	}
	process, err := StartWith(environment, path, flags...)
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
