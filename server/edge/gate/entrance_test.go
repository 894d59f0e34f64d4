package gate

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// stubborn is an HTTP/2 client that reads nothing of a response's body.
type stubborn struct {
	*http2.Framer
	last uint32 // the last stream
}

func newStubborn(t *testing.T, url string) *stubborn {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	c := &stubborn{Framer: http2.NewFramer(conn, conn)}
	if err := c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	return c
}

// call opens a stream with a complete request.
func (c *stubborn) call(t *testing.T, path string) {
	t.Helper()
	block := &bytes.Buffer{}
	encoder := hpack.NewEncoder(block)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", "x"}, {":path", path}, {"content-type", "application/connect+json"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	c.last = max(c.last+2, 1) | 1
	if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteData(c.last, true, []byte("\x00\x00\x00\x00\x02{}")); err != nil {
		t.Fatal(err)
	}
}

// resets sends one value for each stream that the server resets, until the channel is full.
func (c *stubborn) resets(to chan<- http2.ErrCode) {
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok {
			to <- reset.ErrCode
			if len(to) == cap(to) {
				return
			}
		}
	}
}

// TestEntrance_RefusedCallsWhoseErrorIsNotReadAreBounded allows a few of these calls.
func TestEntrance_RefusedCallsWhoseErrorIsNotReadAreBounded(t *testing.T) {
	const calls, capacity = 20, 16
	e := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics())
	e.refused = fairqueue.New(fairqueue.Limits{Total: 2 * calls, PerKey: capacity})
	server := httptest.NewUnstartedServer(e.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = e.refuse(call.From(r.Context()), connect.Spec{}, auth.ErrUnauthenticated)
		_, _ = io.WriteString(w, "an error")
	})))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client, resets := newStubborn(t, server.URL), make(chan http2.ErrCode, calls)
	for range calls {
		client.call(t, "/")
	}
	go client.resets(resets)
	for range calls - capacity {
		<-resets
	}
	if held := e.refused.Held(); held > capacity {
		t.Errorf("%d are held", held)
	}
}

// TestEntrance_AnswersThatAreNotReadTakeNoPlacesOfUnknownCallers has what answers a request without a gate: connect, a probe,
// the console, and the mux for a path that nothing serves.
func TestEntrance_AnswersThatAreNotReadTakeNoPlacesOfUnknownCallers(t *testing.T) {
	const calls = 8
	for name, handler := range map[string]http.HandlerFunc{
		"an error":            func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) },
		"nothing at the path": http.NotFound,
		"a page":              func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") },
		"an error of a gRPC": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "no")
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics())
			e.unknown = fairqueue.New(fairqueue.Limits{Total: calls, PerKey: calls})
			began := make(chan struct{}, 2*calls)
			server := httptest.NewUnstartedServer(e.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler(w, r)
				began <- struct{}{} // the response is in net/http's buffer, and waits for the client
			})))
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			client := newStubborn(t, server.URL)
			go client.resets(make(chan http2.ErrCode, 1)) // reads frames, as a client does that reads no responses
			for range 2 * calls {
				client.call(t, "/")
				<-began
			}
			// Each counts as unread when a second has passed.
			if unknown, answered := e.unknown.Held(), max(e.answered.Held(), e.refused.Held()); unknown != 0 || answered == 0 {
				t.Errorf("%d count as unknown and %d as answered, want 0 and %d", unknown, answered, 2*calls)
			}
		})
	}
}

// TestEntrance_ClientsThatReadAreAnsweredWhateverOthersLeaveUnread has another client take all places of unread answers.
func TestEntrance_ClientsThatReadAreAnsweredWhateverOthersLeaveUnread(t *testing.T) {
	const unread = 8
	e := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics())
	e.refused = fairqueue.New(fairqueue.Limits{Total: 2 * unread, PerKey: unread})
	server := httptest.NewUnstartedServer(e.Handler(http.NotFoundHandler()))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client, resets := newStubborn(t, server.URL), make(chan http2.ErrCode, 1)
	for range unread + 1 {
		client.call(t, "/")
	}
	client.resets(resets) // all places are taken
	for range 20 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if _ = answer.Body.Close(); err != nil || answer.StatusCode != http.StatusNotFound {
			t.Errorf("status %d, %v", answer.StatusCode, err)
		}
	}
}

// TestHealth_SlowChecksTakeNoPlacesOfUnknownCallers sends the headers of checks, and no request.
func TestHealth_SlowChecksTakeNoPlacesOfUnknownCallers(t *testing.T) {
	const calls = 8
	e := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics())
	e.unknown = fairqueue.New(fairqueue.Limits{Total: calls, PerKey: calls})
	g := NewHealth(e)
	received := make(chan struct{}, 2*calls)
	handle := g.Admit(func(context.Context, connect.Spec, connect.ServerStream) error {
		received <- struct{}{}
		<-t.Context().Done()
		return nil
	})
	server := httptest.NewServer(e.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = handle(r.Context(), connect.Spec{StreamType: connect.StreamTypeUnary, Procedure: "/grpc.health.v1.Health/Check"}, nil)
	})))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for range 2 * calls {
		body, rest := io.Pipe()
		t.Cleanup(func() { _ = rest.Close() })
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if answer, err := server.Client().Do(request); err == nil {
				_ = answer.Body.Close()
			}
		}()
		<-received
	}
	if unknown, checks := e.unknown.Held(), g.checks.Held(); unknown != 0 || checks != 2*calls {
		t.Errorf("%d count as unknown and %d as checks, want 0 and %d", unknown, checks, 2*calls)
	}
}

// TestGate_RejectedStreamsEndIfTheErrorIsUnread does not wait for the client.
func TestGate_RejectedStreamsEndIfTheErrorIsUnread(t *testing.T) {
	e := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics())
	g := New(e, Config{Authenticator: &auth.ClusterAuthenticator{}, Callers: NewCallers(Limits{})})
	calls, handler := connect.NewServer(g.Admit), http.NewServeMux()
	kubeconnectv1connect.RegisterResourceServiceHandler(calls, kubeconnectv1connect.UnimplementedResourceServiceHandler{})
	connecthttp.Mount(handler, calls)
	server := httptest.NewUnstartedServer(e.Handler(streamlife.CoalesceWrites(handler, streamlife.WatchUnreadTimeout)))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client, resets := newStubborn(t, server.URL), make(chan http2.ErrCode, 1)
	client.call(t, kubeconnectv1connect.ResourceServiceWatchProcedure)
	client.resets(resets)
	select {
	case <-resets:
	default:
		t.Error("it stays")
	}
}

// TestEntrance_RequestsCountUntilTheirHandlersReturn allows one request.
func TestEntrance_RequestsCountUntilTheirHandlersReturn(t *testing.T) {
	e, hold, held := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics()), make(chan struct{}), make(chan struct{})
	e.unknown = fairqueue.New(fairqueue.Limits{Total: 10, PerKey: 1})
	handler := e.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		held <- struct{}{}
		<-hold
	}))
	serve := func(from string) int {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		request.RemoteAddr = from
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	answers := make(chan int)
	go func() { answers <- serve("10.0.0.1:1") }()
	<-held
	if status := serve("10.0.0.1:2"); status != http.StatusTooManyRequests {
		t.Errorf("another one of the address: %d", status)
	}
	go func() { answers <- serve("10.0.0.2:1") }()
	<-held
	close(hold)
	if first, second := <-answers, <-answers; first != http.StatusOK || second != http.StatusOK {
		t.Errorf("the others: %d, %d", first, second)
	}
	if held := e.unknown.Held(); held != 0 {
		t.Errorf("%d are held at the end", held)
	}
}

func TestEntrance_RejectedRequestsHaveAnID(t *testing.T) {
	e := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics())
	e.unknown = fairqueue.New(fairqueue.Limits{Total: 1, PerKey: 1})
	if _, ok := e.unknown.TryAcquire("another client", 1); !ok {
		t.Fatal("nothing is free")
	}
	for sent, kept := range map[string]bool{"mine": true, "two words": false, "": false} {
		response := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		request.Header.Set(call.RequestIDHeader, sent)
		e.Handler(http.NotFoundHandler()).ServeHTTP(response, request)
		id := response.Header().Get(call.RequestIDHeader)
		if response.Code != http.StatusTooManyRequests || id == "" || (id == sent) != kept {
			t.Errorf("the ID %q becomes %q, status %d", sent, id, response.Code)
		}
	}
}
