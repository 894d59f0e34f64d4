package kubelet

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/remote"
)

// RefusedError returns the error of a container runtime for a port at which no process listens.
func RefusedError(number int32) error {
	return fmt.Errorf("failed to connect to localhost:%d inside namespace: dial tcp4 127.0.0.1:%[1]d: connect: connection refused", number)
}

// Connect returns a connection that serve serves in a goroutine. The other end is closed when serve returns.
func Connect(serve func(net.Conn)) (remote.Conn, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = listener.Close() }()
	client, err := net.DialTCP("tcp4", nil, listener.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, err
	}
	server, err := listener.AcceptTCP()
	if err != nil || server.RemoteAddr().String() != client.LocalAddr().String() {
		return nil, errors.Join(errors.New("another process has connected"), err, client.Close())
	}
	go func() { // it ends with the connection, which the kubelet closes
		defer func() { _ = server.Close() }()
		serve(server)
	}()
	return client, nil
}

// ServeHTTP returns a function for [Kubelet.Listen] that serves HTTP.
func ServeHTTP(handler http.Handler) func(net.Conn) {
	return func(conn net.Conn) {
		closed := make(chan struct{})
		listener := &oneConn{conn: conn, closed: closed}
		server := &http.Server{Handler: handler, ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				listener.once.Do(func() { close(closed) })
			}
		}}
		_ = server.Serve(listener)
	}
}

// oneConn is a listener that accepts one connection, and ends with it.
type oneConn struct {
	conn     net.Conn
	accepted bool // owned by Accept
	closed   chan struct{}
	once     sync.Once
}

// Accept implements net.Listener.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.accepted {
		l.accepted = true
		return l.conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *oneConn) Close() error { return nil }

// Addr implements net.Listener.
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
