package harness

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
)

// Fault is the behaviour of a proxy towards its connections.
type Fault int

const (
	// None forwards all bytes.
	None Fault = iota
	// Refused refuses connections, as when the server has ended.
	Refused
	// Dropped accepts connections and closes them at once, as a load balancer does without a
	// backend.
	Dropped
	// Frozen keeps connections open, accepts new ones and forwards nothing: the link is half-open.
	// Bytes that arrive meanwhile are forwarded afterwards.
	Frozen
	// Muted keeps connections open and forwards only what the callers send. If the connections are
	// cut then, the callers do not know whether their requests were processed.
	Muted
	// Slow forwards bytes at a low rate, see SetSlowRate.
	Slow
	// Torn forwards a random number of bytes and then closes the connection, so that most
	// connections break inside a frame.
	Torn
)

// cuts reports whether a fault begins by closing the open connections.
func (f Fault) cuts() bool { return f == Refused || f == Dropped }

// admits reports whether new connections are allowed during a fault.
func (f Fault) admits() bool { return !f.cuts() }

// Proxy forwards TCP connections to its targets in turn, unless a fault is set. It does not know
// whether a target is healthy. Its address never changes.
type Proxy struct {
	// Set once.
	fail     func(...any) // reports that the proxy cannot listen
	reserved *reservation
	tasks    sync.WaitGroup

	mu             sync.Mutex // guards the fields below
	targets        []string
	forwarded      map[string]int // number of connections by target
	slowRate       int            // bytes per second in each direction while Slow
	fault          Fault
	changed        chan struct{}   // closed and replaced when fault changes
	scheduledFault *scheduledFault // the scheduled fault; nil if none is
	listener       net.Listener    // nil while Refused
	open           map[net.Conn]struct{}
	next           int // index of the target of the next connection
}

// StartProxy starts a proxy to a target with an initial fault. The proxy ends with the test.
func StartProxy(t testing.TB, target string, fault Fault) *Proxy {
	t.Helper()
	return startProxy(t, fault, target)
}

// StartBalancer starts a proxy to several targets. The proxy ends with the test.
func StartBalancer(t testing.TB, targets ...string) *Proxy {
	t.Helper()
	return startProxy(t, None, targets...)
}

func startProxy(t testing.TB, fault Fault, targets ...string) *Proxy {
	t.Helper()
	p := newProxy(t.Fatal, targets...)
	p.Set(fault)
	t.Cleanup(p.Close)
	return p
}

// NewBalancer returns a proxy to several targets for a program that is not a test. It panics if it cannot
// listen. The caller must call Close.
func NewBalancer(targets ...string) *Proxy {
	return newProxy(func(problem ...any) { panic(fmt.Sprint(problem...)) }, targets...)
}

func newProxy(fail func(...any), targets ...string) *Proxy {
	reserved, err := reserve()
	if err != nil {
		fail(err)
	}
	p := &Proxy{
		fail: fail, reserved: reserved, targets: targets, forwarded: make(map[string]int), slowRate: defaultSlowRate,
		changed: make(chan struct{}), open: make(map[net.Conn]struct{}),
	}
	p.Set(None)
	return p
}

// Close closes the port and all connections.
func (p *Proxy) Close() {
	p.Set(Refused)
	p.tasks.Wait()
	p.reserved.release()
}

// Address returns the host and port of the proxy.
func (p *Proxy) Address() string { return p.reserved.address }

// Set sets the fault; None ends it. Refused and Dropped also close the open connections. Set
// cancels a scheduled fault.
func (p *Proxy) Set(fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setLocked(fault)
}

func (p *Proxy) setLocked(fault Fault) {
	p.fault, p.scheduledFault = fault, nil
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
		p.fail(err)
	}
}

// Cut closes the open connections. New ones are accepted.
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
	listener, err := net.Listen("tcp", p.Address())
	if err != nil {
		return err
	}
	p.listener = listener
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
	target, ok := p.nextTarget()
	if !ok {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.admit(server) {
		return
	}
	defer p.forget(server)
	var back sync.WaitGroup
	back.Go(func() { p.pass(caller, server, response) })
	p.pass(server, caller, request)
	back.Wait()
}

// nextTarget returns the target of the next connection; false if there is none.
func (p *Proxy) nextTarget() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.targets) == 0 {
		return "", false
	}
	p.next %= len(p.targets)
	target := p.targets[p.next]
	p.next++
	p.forwarded[target]++
	return target, true
}

// AddTarget adds a target for new connections.
func (p *Proxy) AddTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets = append(p.targets, target)
}

// RemoveTarget excludes a target from new connections. Open ones stay.
func (p *Proxy) RemoveTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets = slices.DeleteFunc(p.targets, func(other string) bool { return other == target })
}

// Forwarded returns the number of connections to each present target, in the order of the targets.
func (p *Proxy) Forwarded() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make([]int, len(p.targets))
	for i, target := range p.targets {
		counts[i] = p.forwarded[target]
	}
	return counts
}

// SetSlowRate sets the rate in bytes per second at which the proxy forwards each direction of a
// connection while Slow.
func (p *Proxy) SetSlowRate(rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowRate = rate
}

// admit registers a connection for later faults and reports whether the current fault allows it.
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
