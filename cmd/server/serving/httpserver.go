package serving

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

	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

const (
	// maxStreams bounds the concurrent calls on one HTTP/2 connection.
	maxStreams = 1000
	// MaxHeaderBytes bounds the headers of a request, including the token. They are kept as long as
	// its stream.
	MaxHeaderBytes = 32 << 10
	// maxUnreadBytes and maxUnreadOfStream bound the buffered bytes of request bodies that are not
	// being read yet, for a connection and for a stream.
	maxUnreadBytes    = 256 << 10
	maxUnreadOfStream = 64 << 10
	// maxFrameBytes bounds the buffer that a connection reads frames into.
	maxFrameBytes = 16 << 10
	// writeTimeout bounds a request without an admitted caller; server.New removes it for admitted
	// ones.
	writeTimeout = time.Minute
	// writeByteTimeout is how long a connection can block without accepting a written byte.
	writeByteTimeout = 30 * time.Second
)

// Server serves HTTP/1.1 and HTTP/2, in plain text and over TLS. The methods that stop it do
// nothing if it is nil.
type Server struct {
	listener    net.Listener
	connections *drainable
	done        chan struct{} // closed when no connection is accepted anymore
	err         error         // of the listener; set before done is closed
}

// Start serves the connections of a listener. The caller must call CloseListener and
// FinishCalls.
func Start(listener net.Listener, handler http.Handler) *Server {
	h := &Server{listener: listener, connections: newDrainable(handler), done: make(chan struct{})}
	go func() {
		defer close(h.done)
		h.err = h.connections.serve(listener)
	}()
	return h
}

// newDrainable returns the connections of the service, each with the same limits.
func newDrainable(handler http.Handler) *drainable {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	http2 := &http.HTTP2Config{
		MaxConcurrentStreams:          maxStreams,
		MaxReceiveBufferPerConnection: maxUnreadBytes,
		MaxReceiveBufferPerStream:     maxUnreadOfStream,
		MaxReadFrameSize:              maxFrameBytes,
		SendPingTimeout:               30 * time.Second,
		WriteByteTimeout:              writeByteTimeout,
	}
	errorLog := logging.NewConnectionLog()
	return &drainable{open: map[*http.Server]struct{}{}, newServer: func() *http.Server {
		return &http.Server{
			Handler:           handler,
			Protocols:         protocols,
			HTTP2:             http2,
			ErrorLog:          errorLog,
			MaxHeaderBytes:    MaxHeaderBytes,
			ReadHeaderTimeout: 10 * time.Second,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       2 * time.Minute,
		}
	}}
}

// Wait blocks until the context is done. If the listener fails before, wait closes all connections
// and returns the error.
func (h *Server) Wait(ctx context.Context) error {
	select {
	case <-h.done:
		return errors.Join(h.err, h.connections.close())
	case <-ctx.Done():
		return nil
	}
}

// CloseListener closes the listener. No connection is accepted after this.
func (h *Server) CloseListener() error {
	if h == nil {
		return nil
	}
	_ = h.listener.Close()
	<-h.done
	return nil
}

// FinishCalls waits until the calls have ended, for the timeout at most, and closes their connections.
//
//nolint:contextcheck // calls finish after the context of the service is done
func (h *Server) FinishCalls(timeout time.Duration) error {
	if h == nil {
		return nil
	}
	deadline, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return h.connections.shutdown(deadline)
}

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
	Server := d.newServer()
	drainOnce := sync.OnceFunc(func() { drain(Server) })
	Server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return streamlife.WithConnection(ctx, drainOnce, func() { _ = conn.Close() })
	}
	Server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			d.remove(Server)
		}
	}
	d.add(Server)
	if err := Server.Serve(&oneConn{Conn: conn}); !errors.Is(err, io.EOF) {
		slog.Error("cannot serve a connection", "error", err)
		_ = conn.Close()
		d.remove(Server)
	}
}

// drain lets the open streams of the server's connection continue, and makes the client open
// another connection for new calls.
//
//nolint:contextcheck // the shutdown of a connection is not a part of the call that begins it
func drain(Server *http.Server) {
	ended, end := context.WithCancel(context.Background())
	end() // so that Shutdown does not wait
	_ = Server.Shutdown(ended)
}

func (d *drainable) add(Server *http.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[Server] = struct{}{}
}

func (d *drainable) remove(Server *http.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, Server)
}

// shutdown drains all connections and waits until their calls have ended. When ctx is done it
// closes them.
func (d *drainable) shutdown(ctx context.Context) error {
	var ending errgroup.Group
	for _, Server := range d.servers() {
		ending.Go(func() error { return Server.Shutdown(ctx) })
	}
	if err := ending.Wait(); err != nil {
		return errors.Join(err, d.close())
	}
	return nil
}

func (d *drainable) close() (err error) {
	for _, Server := range d.servers() {
		err = errors.Join(err, Server.Close())
	}
	return err
}

func (d *drainable) servers() []*http.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	servers := make([]*http.Server, 0, len(d.open))
	for Server := range d.open {
		servers = append(servers, Server)
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
