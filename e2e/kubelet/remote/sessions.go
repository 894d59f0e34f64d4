package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// sessions are the requests in progress, most of which have taken over their connections.
type sessions struct {
	running sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	open   map[*session]struct{}
	closed bool
}

// session is one request.
type session struct {
	cancel  context.CancelFunc
	reading sync.WaitGroup // the goroutine that reads the connection; it ends when the connection is closed

	mu     sync.Mutex   // guards the fields below
	conn   *watchedConn // nil before the request has taken over its connection
	closed bool
}

// begin adds a session, which must be ended. It returns false after close.
func (s *sessions) begin(parent context.Context) (context.Context, *session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(parent)
	session := &session{cancel: cancel}
	s.open[session] = struct{}{}
	s.running.Add(1)
	return ctx, session, true
}

func (s *sessions) end(session *session) {
	session.close()
	session.reading.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, session)
	s.running.Done()
}

// close ends all sessions and waits for them.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	for session := range s.open {
		session.close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// close cancels the context of the session and closes its connection.
func (s *session) close() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// take makes a connection that of the session. Its first bytes have been read already.
func (s *session) take(conn net.Conn, received []byte) (*watchedConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return nil, errors.New("the session has ended")
	}
	reader, writer := io.Pipe()
	s.conn = &watchedConn{Conn: conn, reader: reader}
	s.reading.Go(func() {
		defer s.cancel()
		_, err := io.Copy(writer, io.MultiReader(bytes.NewReader(received), conn))
		_ = writer.CloseWithError(err)
	})
	return s.conn, nil
}

// sessionWriter is the response of a session. It has no Unwrap, so that the connection is taken over only by its
// Hijack.
type sessionWriter struct {
	http.ResponseWriter
	session *session
}

// Hijack implements http.Hijacker.
func (w *sessionWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	received, _ := buffered.Reader.Peek(buffered.Reader.Buffered()) // so many bytes are there
	watched, err := w.session.take(conn, bytes.Clone(received))
	if err != nil {
		return nil, nil, err
	}
	return watched, bufio.NewReadWriter(bufio.NewReader(watched), bufio.NewWriter(watched)), nil
}

// watchedConn is a connection that its session reads ahead, by some kilobytes, so that the end of the connection is
// noticed although a protocol does not read any more. A deadline of reads has no effect.
type watchedConn struct {
	net.Conn
	reader *io.PipeReader
	once   sync.Once
}

// Read implements net.Conn.
func (c *watchedConn) Read(into []byte) (int, error) { return c.reader.Read(into) }

// Close implements net.Conn. It can be repeated: the session and its protocol both close the connection.
func (c *watchedConn) Close() (err error) {
	c.once.Do(func() {
		_ = c.reader.Close()
		err = c.Conn.Close()
	})
	return err
}
