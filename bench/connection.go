package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// connection is an HTTP/2 connection that uses as little CPU time of the load generator as possible:
// body data is passed on as it arrives, and nothing is decoded. Its methods are safe for concurrent
// use.
type connection struct {
	token  string // bearer token of each request; none if empty
	conn   net.Conn
	framer *http2.Framer // read by receive only; written with mu held
	ended  chan struct{} // closed when receive has returned

	mu       sync.Mutex // guards the fields below
	out      *bufio.Writer
	block    bytes.Buffer
	encoder  *hpack.Encoder
	nextID   uint32
	streams  map[uint32]*stream
	consumed int64 // bytes of all streams since the last window update; owned by receive
	err      error // why the connection has ended
}

// Flow-control windows of Go's own HTTP/2 client, for a stream and for a connection.
const (
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// stream is one request and its response.
type stream struct {
	id    uint32
	data  func([]byte)  // called with each piece of the body; must not retain it
	ended chan struct{} // closed when the response is complete

	// Owned by the connection's receive until ended is closed.
	consumed int64
	failure  error
}

// dial opens a connection. Its requests have the given bearer token, unless that is empty. The caller
// must call close.
func dial(address string, config *tls.Config, token string) (*connection, error) {
	config = config.Clone()
	config.NextProtos = []string{http2.NextProtoTLS}
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return nil, err
	}
	c := &connection{
		token:   token,
		conn:    conn,
		ended:   make(chan struct{}),
		out:     bufio.NewWriter(conn),
		nextID:  1,
		streams: make(map[uint32]*stream),
	}
	c.encoder = hpack.NewEncoder(&c.block)
	c.framer = http2.NewFramer(c.out, bufio.NewReaderSize(conn, 64<<10))
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.SetReuseFrames()
	if err := c.sendPreface(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go c.receive()
	return c, nil
}

// sendPreface sends the client preface, the settings and the connection's window.
func (c *connection) sendPreface() error {
	if _, err := c.out.WriteString(http2.ClientPreface); err != nil {
		return err
	}
	return errors.Join(
		c.framer.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow}),
		c.framer.WriteWindowUpdate(0, connectionWindow-65535),
		c.out.Flush())
}

// close ends the connection and all its streams, and waits until receive has returned.
func (c *connection) close() {
	_ = c.conn.Close()
	<-c.ended
}

// open sends a request. It calls data with each piece of the response's body, in the goroutine of
// receive: data must not block.
func (c *connection) open(fields []hpack.HeaderField, body []byte, data func([]byte)) (*stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	id := c.nextID
	s := &stream{id: id, data: data, ended: make(chan struct{})}
	c.nextID += 2
	c.streams[id] = s
	c.block.Reset()
	for _, field := range fields {
		_ = c.encoder.WriteField(field) // writes to memory
	}
	if c.token != "" {
		_ = c.encoder.WriteField(hpack.HeaderField{Name: "authorization", Value: "Bearer " + c.token})
	}
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: body == nil,
	})
	if body != nil {
		err = errors.Join(err, c.framer.WriteData(id, true, body))
	}
	return s, errors.Join(err, c.out.Flush())
}

// cancel ends a stream whose response is not complete, as a client that closes it.
func (c *connection) cancel(s *stream) error {
	c.finish(s.id, nil)
	return c.write(func() error { return c.framer.WriteRSTStream(s.id, http2.ErrCodeCancel) })
}

// receive reads frames until the connection ends.
func (c *connection) receive() {
	defer close(c.ended)
	for {
		frame, err := c.framer.ReadFrame()
		if err == nil {
			err = c.handle(frame)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *connection) handle(frame http2.Frame) error {
	switch frame := frame.(type) {
	case *http2.DataFrame:
		return c.handleData(frame)
	case *http2.MetaHeadersFrame:
		c.handleHeaders(frame)
	case *http2.RSTStreamFrame:
		c.finish(frame.StreamID, fmt.Errorf("the server ended the stream: %v", frame.ErrCode))
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return c.write(c.framer.WriteSettingsAck)
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return c.write(func() error { return c.framer.WritePing(true, frame.Data) })
		}
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server ended the connection: %v %s", frame.ErrCode, frame.DebugData())
	}
	return nil
}

func (c *connection) handleData(frame *http2.DataFrame) error {
	c.mu.Lock()
	s := c.streams[frame.StreamID]
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	s.data(frame.Data())
	if err := c.updateWindows(s, frame); err != nil {
		return err
	}
	if frame.StreamEnded() {
		c.finish(frame.StreamID, nil)
	}
	return nil
}

// updateWindows extends a flow-control window when half of it has been used.
func (c *connection) updateWindows(s *stream, frame *http2.DataFrame) error {
	length := int64(frame.Length)
	s.consumed += length
	if s.consumed > streamWindow/2 {
		allowed := uint32(s.consumed)
		s.consumed = 0
		if err := c.write(func() error { return c.framer.WriteWindowUpdate(frame.StreamID, allowed) }); err != nil {
			return err
		}
	}
	c.consumed += length
	if c.consumed > connectionWindow/2 {
		allowed := uint32(c.consumed)
		c.consumed = 0
		return c.write(func() error { return c.framer.WriteWindowUpdate(0, allowed) })
	}
	return nil
}

// handleHeaders reads the HTTP status and the gRPC status from headers or trailers.
func (c *connection) handleHeaders(frame *http2.MetaHeadersFrame) {
	var failure error
	for _, field := range frame.Fields {
		switch {
		case field.Name == ":status" && field.Value != "200":
			failure = fmt.Errorf("the server responded with HTTP status %s", field.Value)
		case field.Name == "grpc-status" && field.Value != "0":
			failure = errors.Join(failure, fmt.Errorf("the server responded with gRPC status %s", field.Value))
		case field.Name == "grpc-message" && field.Value != "":
			failure = errors.Join(failure, errors.New(field.Value))
		}
	}
	if failure != nil || frame.StreamEnded() {
		c.finish(frame.StreamID, failure)
	}
}

// write writes a frame and flushes it.
func (c *connection) write(frame func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(frame(), c.out.Flush())
}

// finish ends a stream.
func (c *connection) finish(id uint32, failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[id]; s != nil {
		delete(c.streams, id)
		s.failure = failure
		close(s.ended)
	}
}

// fail ends the connection and all its streams with an error.
func (c *connection) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("the connection has ended: %w", err)
	for id, s := range c.streams {
		delete(c.streams, id)
		s.failure = c.err
		close(s.ended)
	}
	_ = c.conn.Close()
}
