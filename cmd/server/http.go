package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	// maxStreams bounds the concurrent calls on one HTTP/2 connection.
	maxStreams = 1000
	// maxHeaderBytes bounds the headers of a request, including the token. They are kept as long as
	// its stream.
	maxHeaderBytes = 32 << 10
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

// httpServer serves HTTP/1.1 and HTTP/2, in plain text and over TLS. The methods that stop it do
// nothing if it is nil.
type httpServer struct {
	listener    net.Listener
	connections *drainable
	done        chan struct{} // closed when no connection is accepted anymore
	err         error         // of the listener; set before done is closed
}

// startHTTP serves the connections of a listener. The caller must call closeListener and
// finishCalls.
func startHTTP(listener net.Listener, handler http.Handler) *httpServer {
	h := &httpServer{listener: listener, connections: newDrainable(handler), done: make(chan struct{})}
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
	errorLog := newConnectionLog()
	return &drainable{open: map[*http.Server]struct{}{}, newServer: func() *http.Server {
		return &http.Server{
			Handler:           handler,
			Protocols:         protocols,
			HTTP2:             http2,
			ErrorLog:          errorLog,
			MaxHeaderBytes:    maxHeaderBytes,
			ReadHeaderTimeout: 10 * time.Second,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       2 * time.Minute,
		}
	}}
}

// wait blocks until the context is done. If the listener fails before, wait closes all connections
// and returns the error.
func (h *httpServer) wait(ctx context.Context) error {
	select {
	case <-h.done:
		return errors.Join(h.err, h.connections.close())
	case <-ctx.Done():
		return nil
	}
}

// closeListener closes the listener. No connection is accepted after this.
func (h *httpServer) closeListener() error {
	if h == nil {
		return nil
	}
	_ = h.listener.Close()
	<-h.done
	return nil
}

// finishCalls waits until the calls have ended, for shutdownTimeout at most, and closes their
// connections.
func (h *httpServer) finishCalls() error {
	if h == nil {
		return nil
	}
	deadline, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	return h.connections.shutdown(deadline)
}
