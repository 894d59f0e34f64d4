package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// forwarder forwards TCP connections to a server, and counts the bytes that the server sends.
type forwarder struct {
	listener net.Listener
	target   string
	bytes    atomic.Int64

	mu     sync.Mutex
	open   []net.Conn // closed by close
	closed bool
}

// forwardTo returns a forwarder to an address. The caller must call close.
func forwardTo(target string) (*forwarder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &forwarder{listener: listener, target: target}
	go f.serve()
	return f, nil
}

func (f *forwarder) address() string { return f.listener.Addr().String() }

// received returns the bytes that the server has sent.
func (f *forwarder) received() int64 { return f.bytes.Load() }

func (f *forwarder) serve() {
	for {
		caller, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		go f.forward(caller)
	}
}

func (f *forwarder) forward(caller net.Conn) {
	defer func() { _ = caller.Close() }()
	server, err := net.Dial("tcp", f.target)
	if err != nil || !f.keep(caller, server) {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, caller)
		_ = server.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(caller, counted{&f.bytes}), server)
}

// keep makes close close the connections. It returns false, and closes them, if close was called.
func (f *forwarder) keep(connections ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		for _, c := range connections {
			_ = c.Close()
		}
		return false
	}
	f.open = append(f.open, connections...)
	return true
}

// close closes the listener and all connections.
func (f *forwarder) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, c := range f.open {
		_ = c.Close()
	}
}

// counted is a writer that only counts.
type counted struct{ bytes *atomic.Int64 }

func (c counted) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}
