package harness

import (
	"net"
	"strconv"
	"syscall"
	"testing"
)

// ReserveAddress returns a loopback address, HOST:PORT, at which connections are refused until the
// caller listens there, once or repeatedly. The system gives its port to nobody else before the test
// ends.
func ReserveAddress(t testing.TB) string {
	t.Helper()
	reserved, err := reserve()
	if err != nil {
		t.Fatal(err)
	}
	Cleanup(t, reserved.release)
	return reserved.address
}

// reservation keeps a port between two listeners: a socket is bound to it that does not listen. A
// listener can share the port, because Go sets SO_REUSEADDR for listeners too.
type reservation struct {
	socket  int
	address string
}

func reserve() (*reservation, error) {
	syscall.ForkLock.RLock() // no child process may inherit the socket
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	r := &reservation{socket: socket}
	if r.address, err = bind(socket); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

func (r *reservation) release() { _ = syscall.Close(r.socket) }

// bind binds a socket to a free port of the loopback interface, and returns its address.
func bind(socket int) (string, error) {
	loopback := [4]byte{127, 0, 0, 1}
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: loopback}); err != nil {
		return "", err
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(net.IP(loopback[:]).String(), strconv.Itoa(bound.(*syscall.SockaddrInet4).Port)), nil
}
