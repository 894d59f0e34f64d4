package serving

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// TestDrain_OtherStreamsOfTheConnectionFinish ends one of two streams of an HTTP/2 connection so
// that its client resumes it over another connection.
func TestDrain_OtherStreamsOfTheConnectionFinish(t *testing.T) {
	drain, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr+"\n")
		_ = http.NewResponseController(w).Flush()
		switch r.URL.Path {
		case "/drains":
			<-drain
			streamlife.Drain(r.Context())
		case "/goes-on":
			<-finish
			_, _ = io.WriteString(w, "finished")
		}
	})
	listener := listenAnywhere(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveHTTP(ctx, listener, handler, func() {}) }()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	client := &http.Client{Transport: transport}
	open := func(path string) (address string, rest func() string) {
		t.Helper()
		answer, err := client.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		address = line(t, answer.Body)
		return address, func() string {
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
	}
	first, ends := open("/drains")
	same, goesOn := open("/goes-on")
	if first != same {
		t.Fatal("two streams use two connections")
	}
	close(drain)
	if text := ends(); text != "" {
		t.Errorf("the stream that ends answers %q", text)
	}
	another := first // the client may see the end of its stream before it sees GOAWAY
	for attempt := 0; another == first && attempt < 1000; attempt++ {
		var rest func() string
		another, rest = open("/next")
		rest()
	}
	if another == first {
		t.Error("the next streams use the same connection")
	}
	close(finish)
	if text := goesOn(); text != "finished" {
		t.Errorf("the stream that continues got %q", text)
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func line(t *testing.T, from io.Reader) string {
	t.Helper()
	var text []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(from, one); err != nil {
			t.Fatal(err)
		}
		if one[0] == '\n' {
			return string(text)
		}
		text = append(text, one[0])
	}
}

// servePlain serves a handler in plain text until the test ends, and returns its address.
func servePlain(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listener := listenAnywhere(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveHTTP(ctx, listener, handler, func() {}) }()
	t.Cleanup(func() {
		stop()
		succeeds(t, <-done)
	})
	return listener.Addr().String()
}

func TestServe_HeadersAreBounded(t *testing.T) {
	address := servePlain(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	for version, protocols := range plainProtocols() {
		t.Run(version, func(t *testing.T) {
			transport := &http.Transport{Protocols: protocols}
			t.Cleanup(transport.CloseIdleConnections)
			for length, served := range map[int]bool{20 << 10: true, 40 << 10: false} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
				succeeds(t, err)
				request.Header.Set("Authorization", strings.Repeat("x", length))
				answer, err := transport.RoundTrip(request)
				if err != nil { // a client of HTTP/2 knows the limit
					answer = &http.Response{Body: http.NoBody}
				}
				_ = answer.Body.Close()
				if (answer.StatusCode == http.StatusOK) != served {
					t.Errorf("%d bytes: status %d, %v", length, answer.StatusCode, err)
				}
			}
		})
	}
}

func plainProtocols() map[string]*http.Protocols {
	one, two := new(http.Protocols), new(http.Protocols)
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	return map[string]*http.Protocols{"HTTP/1.1": one, "HTTP/2": two}
}

// TestServe_UnreadBytesOfConnectionsAreBounded checks how much a client can send of bodies that are
// not read.
func TestServe_UnreadBytesOfConnectionsAreBounded(t *testing.T) {
	address := servePlain(t, http.NotFound)
	conn, err := net.Dial("tcp", address)
	succeeds(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, http2.ClientPreface)
	succeeds(t, err)
	framer := http2.NewFramer(conn, conn)
	succeeds(t, framer.WriteSettings())
	window := uint32(65535)
	for pinged := false; ; {
		frame, err := framer.ReadFrame()
		succeeds(t, err)
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if stream, ok := frame.Value(http2.SettingInitialWindowSize); ok && stream > maxUnreadOfStream {
				t.Errorf("a stream can have %d unread bytes", stream)
			}
			if length, ok := frame.Value(http2.SettingMaxFrameSize); ok && length > maxFrameBytes {
				t.Errorf("a frame can have %d bytes", length)
			}
		case *http2.WindowUpdateFrame:
			window += frame.Increment
		case *http2.PingFrame:
			if window > maxUnreadBytes {
				t.Errorf("a connection can have %d unread bytes", window)
			}
			return
		}
		if !pinged {
			pinged = true
			succeeds(t, framer.WritePing(false, [8]byte{}))
		}
	}
}

// TestServe_TruncatedHeadersDoNotReachTheHandler sends many small fields.
func TestServe_TruncatedHeadersDoNotReachTheHandler(t *testing.T) {
	address := servePlain(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request with %d header fields was served", len(r.Header))
	})
	conn, err := net.Dial("tcp", address)
	succeeds(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, http2.ClientPreface)
	succeeds(t, err)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	succeeds(t, framer.WriteSettings())
	block := &bytes.Buffer{}
	encoder := hpack.NewEncoder(block)
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"},
		{Name: ":path", Value: "/"}, {Name: ":authority", Value: "x"},
	} {
		succeeds(t, encoder.WriteField(field))
	}
	for i := range 2000 { // 18 KB on the wire, and above the limit with the overhead of each field
		succeeds(t, encoder.WriteField(hpack.HeaderField{Name: fmt.Sprintf("x%d", i), Value: "y"}))
	}
	begin, rest := block.Bytes()[:block.Len()/2], block.Bytes()[block.Len()/2:]
	succeeds(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: begin, EndStream: true}))
	succeeds(t, framer.WriteContinuation(1, true, rest))
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return // the connection is closed
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			if status := headers.PseudoValue("status"); status != "431" {
				t.Errorf("got %s", status)
			}
			return
		}
	}
}
