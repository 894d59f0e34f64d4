package harness

import "testing"

// StartMortalService is StartService for a service that the test will crash: how it exits is not
// checked. The service listens on listen, a HOST:PORT; port 0 selects a free port, which is kept until the
// test ends, so that the service can be started again at its address.
func StartMortalService(t testing.TB, kubeconfig, listen string, flags ...string) *Service {
	t.Helper()
	if listen == freePort {
		listen = ReserveAddress(t)
	}
	return startService(t, nil, kubeconfig, listen, flags...)
}

// Crash ends the process with SIGKILL, without a graceful shutdown, and blocks until it has ended.
func (p *Process) Crash() {
	_ = p.command.Process.Kill()
	<-p.ended
}
