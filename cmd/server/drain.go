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

	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// drainable serves each connection with an http.Server of its own. net/http can send GOAWAY only to
// all connections of a server, by [http.Server.Shutdown]. With a server for each connection, a
// single one can be drained: its open streams continue, and its client opens another connection for
// its next calls. A server costs about 3 KB.
type drainable struct {
	newServer func() *http.Server

	mu   sync.Mutex // guards open
	open map[*http.Server]struct{}
}

// serve serves the connections of a listener until the listener fails.
func (d *drainable) serve(listener net.Listener) error {
	for {
		conn, err := accept(listener)
		if err != nil {
			return err
		}
		d.serveConn(conn)
	}
}

// serveConn starts serving a connection and returns at once.
func (d *drainable) serveConn(conn net.Conn) {
	httpServer := d.newServer()
	drainOnce := sync.OnceFunc(func() { drain(httpServer) })
	httpServer.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return streamlife.WithDrain(ctx, drainOnce)
	}
	httpServer.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			d.remove(httpServer)
		}
	}
	d.add(httpServer)
	if err := httpServer.Serve(&oneConn{Conn: conn}); !errors.Is(err, io.EOF) {
		slog.Error("cannot serve a connection", "error", err)
		_ = conn.Close()
		d.remove(httpServer)
	}
}

// drain lets the open streams of the server's connection continue, and makes the client open
// another connection for new calls.
func drain(httpServer *http.Server) {
	ended, end := context.WithCancel(context.Background())
	end() // so that Shutdown does not wait
	_ = httpServer.Shutdown(ended)
}

func (d *drainable) add(httpServer *http.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[httpServer] = struct{}{}
}

func (d *drainable) remove(httpServer *http.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, httpServer)
}

// shutdown drains all connections and waits until their calls have ended. When ctx is done it
// closes them.
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

// acceptPause is the delay after a temporary error of Accept, such as too many open files.
const acceptPause = 100 * time.Millisecond

// accept returns the next connection. It retries after temporary errors, as net/http does.
func accept(listener net.Listener) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		var temporary interface{ Temporary() bool }
		if err == nil || !errors.As(err, &temporary) || !temporary.Temporary() {
			return conn, err
		}
		slog.Warn("cannot accept connections", "error", err)
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

// Close implements net.Listener. The connection stays open.
func (o *oneConn) Close() error { return nil }

// Addr implements net.Listener.
func (o *oneConn) Addr() net.Addr { return o.LocalAddr() }
