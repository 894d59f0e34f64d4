package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeconnect/kubeconnect/server"
)

// drainable serves each connection by an http.Server of its own. net/http can tell only all
// connections of a server to open no more streams (GOAWAY), by [http.Server.Shutdown]. With a
// server for each connection, one can be drained: what is under way on it goes on, and its client opens
// another connection for its next calls. A server costs about 3 KB.
type drainable struct {
	newServer func() *http.Server

	mu   sync.Mutex // guards open
	open map[*http.Server]struct{}
}

// serve serves the connections of a listener until that fails.
func (d *drainable) serve(listener net.Listener) error {
	for {
		conn, err := accept(listener)
		if err != nil {
			return err
		}
		d.serveConn(conn)
	}
}

// serveConn returns at once.
func (d *drainable) serveConn(conn net.Conn) {
	httpServer := d.newServer()
	drainOnce := sync.OnceFunc(func() { drain(httpServer) })
	httpServer.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return server.WithDrain(ctx, drainOnce)
	}
	httpServer.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			d.forget(httpServer)
		}
	}
	d.remember(httpServer)
	if err := httpServer.Serve(&oneConn{Conn: conn}); !errors.Is(err, io.EOF) {
		slog.Error("a connection is not served", "error", err)
		_ = conn.Close()
		d.forget(httpServer)
	}
}

// drain lets what is under way on the server's connection go on, and has the client open another
// connection for all else.
func drain(httpServer *http.Server) {
	ended, end := context.WithCancel(context.Background())
	end() // so that Shutdown does not wait
	_ = httpServer.Shutdown(ended)
}

func (d *drainable) remember(httpServer *http.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[httpServer] = struct{}{}
}

func (d *drainable) forget(httpServer *http.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, httpServer)
}

// shutdown drains all connections and waits until what is under way on them has ended. When ctx ends
// it closes them.
func (d *drainable) shutdown(ctx context.Context) error {
	var ending errgroup.Group
	for _, httpServer := range d.servers() {
		ending.Go(func() error { return httpServer.Shutdown(ctx) })
	}
	if err := ending.Wait(); err != nil {
		return errors.Join(err, d.close())
	}
	return nil
}

func (d *drainable) close() (err error) {
	for _, httpServer := range d.servers() {
		err = errors.Join(err, httpServer.Close())
	}
	return err
}

func (d *drainable) servers() []*http.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	servers := make([]*http.Server, 0, len(d.open))
	for httpServer := range d.open {
		servers = append(servers, httpServer)
	}
	return servers
}

// acceptPause is how long to wait after accepting has failed for a reason that passes, such as too
// many open files.
const acceptPause = 100 * time.Millisecond

// accept returns the next connection. Errors that pass are waited for, as net/http does.
func accept(listener net.Listener) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		var passing interface{ Temporary() bool }
		if err == nil || !errors.As(err, &passing) || !passing.Temporary() {
			return conn, err
		}
		slog.Warn("no connection is accepted", "error", err)
		time.Sleep(acceptPause)
	}
}

// oneConn is a listener that accepts one connection, and then returns io.EOF.
type oneConn struct {
	net.Conn
	accepted bool
}

// Accept implements net.Listener.
func (o *oneConn) Accept() (net.Conn, error) {
	if o.accepted {
		return nil, io.EOF
	}
	o.accepted = true
	return o.Conn, nil
}

// Close implements net.Listener: the connection stays open.
func (o *oneConn) Close() error { return nil }

// Addr implements net.Listener.
func (o *oneConn) Addr() net.Addr { return o.LocalAddr() }
