package harness

import (
	"io"
	"net"
	"sync"
	"testing"
)

// RoundRobin forwards TCP connections to several targets in turn, as a Kubernetes Service does that
// does not know their health.
type RoundRobin struct {
	// Set once.
	listener net.Listener
	targets  []string
	tasks    sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	passed []int      // number of connections by target
	open   map[net.Conn]struct{}
	closed bool
}

// StartRoundRobin starts forwarding to targets, each as host and port. It ends with the test.
func StartRoundRobin(t testing.TB, targets ...string) *RoundRobin {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &RoundRobin{listener: listener, targets: targets, passed: make([]int, len(targets)), open: map[net.Conn]struct{}{}}
	r.tasks.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// Address returns the host and port on which it listens.
func (r *RoundRobin) Address() string { return r.listener.Addr().String() }

// Passed returns the number of connections that were forwarded to each target.
func (r *RoundRobin) Passed() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]int(nil), r.passed...)
}

func (r *RoundRobin) accept() {
	for next := 0; ; next = (next + 1) % len(r.targets) {
		caller, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.passed[next]++
		r.mu.Unlock()
		r.tasks.Go(func() { r.pass(caller, r.targets[next]) })
	}
}

func (r *RoundRobin) pass(caller net.Conn, target string) {
	defer caller.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if !r.remember(caller, server) {
		return
	}
	defer r.forget(caller, server)
	var both sync.WaitGroup
	both.Go(func() { copyUntilEnd(caller, server) })
	copyUntilEnd(server, caller)
	both.Wait()
}

// copyUntilEnd copies one direction and closes both connections when it ends, because HTTP/2 does
// not use half-closed connections.
func copyUntilEnd(target, from net.Conn) {
	_, _ = io.Copy(target, from)
	_ = target.Close()
	_ = from.Close()
}

func (r *RoundRobin) remember(connections ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, connection := range connections {
		r.open[connection] = struct{}{}
	}
	return !r.closed
}

func (r *RoundRobin) forget(connections ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, connection := range connections {
		delete(r.open, connection)
	}
}

func (r *RoundRobin) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for connection := range r.open {
		_ = connection.Close()
	}
	r.mu.Unlock()
	r.tasks.Wait()
}
