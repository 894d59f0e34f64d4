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

// connection is an HTTP/2 connection that costs its own process as little as can
// be, so that it is the server that is measured: bodies are handed on as they come
// and nothing is decoded. Its methods are safe for concurrent use.
type connection struct {
	token  string // which each request bears; empty is none
	conn   net.Conn
	framer *http2.Framer // read by receive alone; written under mu
	ended  chan struct{} // closed when receive has ended

	mu       sync.Mutex // guards the fields below
	out      *bufio.Writer
	block    bytes.Buffer
	encoder  *hpack.Encoder
	nextID   uint32
	streams  map[uint32]*stream
	consumed int64 // bytes of all streams since the window was last opened
	err      error // why it has ended
}

// What Go's own HTTP/2 client allows a server to send ahead: of one stream, and of
// a connection.
const (
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// stream is one request and its answer.
type stream struct {
	data  func([]byte)  // is called with each piece of the body, which is lent
	ended chan struct{} // closed when the answer is complete

	// Owned by the connection's receive until ended is closed.
	consumed int64
	failure  error
}

// dial opens a connection, whose requests bear a token unless that is empty. The
// caller must call close.
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
	if err := c.greet(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go c.receive()
	return c, nil
}

func (c *connection) greet() error {
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

// close ends the connection and all its streams.
func (c *connection) close() {
	_ = c.conn.Close()
	<-c.ended
}

// open sends a request. Its answer's body goes to data, piece by piece, in the
// connection's own goroutine: data must not wait for anything.
func (c *connection) open(fields []hpack.HeaderField, body []byte, data func([]byte)) (*stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	s := &stream{data: data, ended: make(chan struct{})}
	id := c.nextID
	c.nextID += 2
	c.streams[id] = s
	c.block.Reset()
	for _, field := range fields {
		_ = c.encoder.WriteField(field) // into memory
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

// receive reads what the server sends until the connection ends.
func (c *connection) receive() {
	defer close(c.ended)
	for {
		frame, err := c.framer.ReadFrame()
		if err == nil {
			err = c.take(frame)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *connection) take(frame http2.Frame) error {
	switch frame := frame.(type) {
	case *http2.DataFrame:
		return c.takeData(frame)
	case *http2.MetaHeadersFrame:
		c.takeHeaders(frame)
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

func (c *connection) takeData(frame *http2.DataFrame) error {
	c.mu.Lock()
	s := c.streams[frame.StreamID]
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	s.data(frame.Data())
	if err := c.allowMore(s, frame); err != nil {
		return err
	}
	if frame.StreamEnded() {
		c.finish(frame.StreamID, nil)
	}
	return nil
}

// allowMore opens the windows again when half of them has been used.
func (c *connection) allowMore(s *stream, frame *http2.DataFrame) error {
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

// takeHeaders reads the status of HTTP and that of gRPC, in headers or trailers.
func (c *connection) takeHeaders(frame *http2.MetaHeadersFrame) {
	var failure error
	for _, field := range frame.Fields {
		switch {
		case field.Name == ":status" && field.Value != "200":
			failure = fmt.Errorf("the server answers %s", field.Value)
		case field.Name == "grpc-status" && field.Value != "0":
			failure = errors.Join(failure, fmt.Errorf("the service answers gRPC status %s", field.Value))
		case field.Name == "grpc-message" && field.Value != "":
			failure = errors.Join(failure, errors.New(field.Value))
		}
	}
	if failure != nil || frame.StreamEnded() {
		c.finish(frame.StreamID, failure)
	}
}

func (c *connection) write(frame func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(frame(), c.out.Flush())
}

func (c *connection) finish(id uint32, failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[id]; s != nil {
		delete(c.streams, id)
		s.failure = failure
		close(s.ended)
	}
}

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
