package limits_test

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// rawConnection is an HTTP/2 connection in plain text that never opens a flow-control window: the
// server can send headers, but no data. It acknowledges settings and pings, so that it differs from
// a good client only in the data that waits to be sent.
type rawConnection struct {
	conn   net.Conn
	framer *http2.Framer
	ended  chan struct{} // closed when the server has closed the connection
	resets atomic.Int64  // number of streams that the server has reset

	mu      sync.Mutex // guards the fields below, and writing
	encoder *hpack.Encoder
	block   bytes.Buffer
	stream  uint32
}

// dialRaw opens a connection from floodAddress that ends with the test.
func dialRaw(t *testing.T, service *harness.Service) *rawConnection {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: floodAddress}}).Dial("tcp", kit.HostPort(service))
	if err != nil {
		t.Fatal(err)
	}
	c := &rawConnection{conn: conn, framer: http2.NewFramer(conn, conn), ended: make(chan struct{}), stream: 1}
	c.encoder = hpack.NewEncoder(&c.block)
	c.encoder.SetMaxDynamicTableSizeLimit(0)
	t.Cleanup(c.close)
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	err = c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}, http2.Setting{ID: http2.SettingEnablePush, Val: 0})
	if err != nil {
		t.Fatal(err)
	}
	go c.read()
	return c
}

func (c *rawConnection) close() {
	_ = c.conn.Close()
	<-c.ended
}

// read responds to the frames that require a response.
func (c *rawConnection) read() {
	defer close(c.ended)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				c.write(func() error { return c.framer.WriteSettingsAck() })
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				data := frame.Data
				c.write(func() error { return c.framer.WritePing(true, data) })
			}
		case *http2.RSTStreamFrame:
			c.resets.Add(1)
		}
	}
}

func (c *rawConnection) write(frame func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = frame() // an error of writing is detected by reading
}

// rawFrame is the default limit of the size of a frame.
const rawFrame = 16 << 10

// post sends a complete request. It returns an error if the server has closed the connection.
func (c *rawConnection) post(service *harness.Service, path string, body []byte, headers ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.block.Reset()
	fields := append([]string{":method", "POST", ":scheme", "http", ":authority", kit.HostPort(service), ":path", path}, headers...)
	for i := 0; i < len(fields); i += 2 {
		if err := c.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	id := c.stream
	c.stream += 2
	if err := c.headersLocked(id, c.block.Bytes()); err != nil {
		return fmt.Errorf("after %d requests: %w", id/2, err)
	}
	return c.framer.WriteData(id, true, body)
}

func (c *rawConnection) headersLocked(id uint32, block []byte) error {
	first := block[:min(len(block), rawFrame)]
	rest := block[len(first):]
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(rest) == 0})
	for err == nil && len(rest) > 0 {
		next := rest[:min(len(rest), rawFrame)]
		rest = rest[len(next):]
		err = c.framer.WriteContinuation(id, len(rest) == 0, next)
	}
	return err
}
