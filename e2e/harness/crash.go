package harness

import (
	"context"
	"testing"
)

// StartMortalService is StartService for a service that the test will crash. The service listens on
// listen, a HOST:PORT; port 0 selects a free port.
func StartMortalService(t testing.TB, kubeconfig, listen string, flags ...string) *Service {
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

// Crash ends the process with SIGKILL, without a graceful shutdown, and blocks until it has ended.
func (p *Process) Crash() {
	_ = p.command.Process.Kill()
	<-p.ended
}
