package harness

import (
	"net"
	"sync"
	"testing"
)

// Fault is what a proxy does with its connections.
type Fault int

const (
	// None passes everything on.
	None Fault = iota
	// Refused closes the port, as if the server had ended.
	Refused
	// Dropped accepts connections and closes them at once, as a load balancer
	// does that has lost its server.
	Dropped
	// Frozen keeps connections open, takes new ones, and passes nothing on: the link
	// is half-open. What it was given meanwhile goes on its way afterwards.
	Frozen
	// Slow passes a few bytes on at a time.
	Slow
	// Torn passes a random number of bytes on and then cuts, so that most cuts are
	// in the middle of a frame.
	Torn
)

// cuts tells whether a fault begins by cutting the connections that are open.
func (f Fault) cuts() bool { return f == Refused || f == Dropped }

// admits tells whether new connections may live during a fault.
func (f Fault) admits() bool { return !f.cuts() }

// Proxy passes TCP connections on, unless it is told to fail. It keeps its
// address all the time.
type Proxy struct {
	// Set once.
	t       testing.TB
	targets []string
	tasks   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	address  string
	fault    Fault
	changed  chan struct{} // closed when fault changes, and made anew
	coming   *coming       // the fault that begins by itself; nil if none does
	listener net.Listener  // nil while Refused
	open     map[net.Conn]struct{}
	served   int // connections
}

// StartProxy starts a proxy that passes on to a target, with a fault from the
// beginning. It ends with the test.
func StartProxy(t testing.TB, target string, fault Fault) *Proxy {
	t.Helper()
	return startProxy(t, fault, target)
}

// StartBalancer starts a proxy that passes each connection on to the next of some targets, as a
// plain TCP load balancer does. It ends with the test.
func StartBalancer(t testing.TB, targets ...string) *Proxy {
	t.Helper()
	return startProxy(t, None, targets...)
}

func startProxy(t testing.TB, fault Fault, targets ...string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, targets: targets, address: "127.0.0.1:0", changed: make(chan struct{}), open: make(map[net.Conn]struct{})}
	p.Set(None)
	p.Set(fault)
	t.Cleanup(func() {
		p.Set(Refused)
		p.tasks.Wait()
	})
	return p
}

// Address is where the proxy listens, as host and port.
func (p *Proxy) Address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

// Set makes the proxy fail in a way, or not any more. Refused and Dropped also cut
// the connections that are open.
func (p *Proxy) Set(fault Fault) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setLocked(fault)
}

func (p *Proxy) setLocked(fault Fault) {
	p.t.Helper()
	p.fault, p.coming = fault, nil
	close(p.changed)
	p.changed = make(chan struct{})
	if fault.cuts() {
		p.cutLocked()
	}
	if fault == Refused {
		p.closeLocked()
		return
	}
	if err := p.listenLocked(); err != nil {
		p.t.Fatal(err)
	}
}

// Cut closes the connections that are open, and lets new ones through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked()
}

func (p *Proxy) cutLocked() {
	for connection := range p.open {
		_ = connection.Close()
	}
}

func (p *Proxy) closeLocked() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

func (p *Proxy) listenLocked() error {
	if p.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.listener, p.address = listener, listener.Addr().String()
	p.tasks.Go(func() { p.accept(listener) })
	return nil
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() { p.serve(connection) })
	}
}

func (p *Proxy) serve(caller net.Conn) {
	defer caller.Close()
	if !p.admit(caller) {
		return
	}
	defer p.forget(caller)
	server, err := net.Dial("tcp", p.nextTarget())
	if err != nil {
		return
	}
	defer server.Close()
	if !p.admit(server) {
		return
	}
	defer p.forget(server)
	var back sync.WaitGroup
	back.Go(func() { p.pass(caller, server) })
	p.pass(server, caller)
	back.Wait()
}

// nextTarget returns the target of the next connection.
func (p *Proxy) nextTarget() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served++
	return p.targets[p.served%len(p.targets)]
}

// admit tells whether a connection may live; if so a fault will cut it.
func (p *Proxy) admit(connection net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.fault.admits() {
		return false
	}
	p.open[connection] = struct{}{}
	return true
}

func (p *Proxy) forget(connection net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, connection)
}
