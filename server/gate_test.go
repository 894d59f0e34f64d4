package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// unfinished is a request whose body never ends.
type unfinished struct {
	path, contentType string
	begin             string // of the body
}

// wireAnswer is the status of a response, in HTTP and in gRPC.
type wireAnswer struct {
	status     int
	grpcStatus string
	body       string
}

// versions are the ways to send a body that does not end.
var versions = map[string]func(unfinished, *testing.T, *service) wireAnswer{"HTTP/1.1": unfinished.sendHTTP1, "HTTP/2": unfinished.sendHTTP2}

func (u unfinished) sendHTTP2(t *testing.T, s *service) wireAnswer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sent, body := io.Pipe()
	defer func() { _ = body.Close() }()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+u.path, sent)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", u.contentType)
	go func() { _, _ = io.WriteString(body, u.begin) }()
	response, err := s.http.Do(request)
	return readAnswer(t, response, err)
}

// sendHTTP1 does not use net/http, whose client waits for the end of a body that it sends.
func (u unfinished) sendHTTP1(t *testing.T, s *service) wireAnswer {
	t.Helper()
	conn := dialHTTP1(t, s)
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", u.path, u.contentType, len(u.begin), u.begin); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	return readAnswer(t, response, err)
}

func dialHTTP1(t *testing.T, s *service) net.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

func readAnswer(t *testing.T, response *http.Response, err error) wireAnswer {
	t.Helper()
	if err != nil {
		t.Fatalf("no response while the body is not finished: %v", err)
	}
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return wireAnswer{response.StatusCode, response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status"), string(text)}
}

const (
	createPath = kubeconnectv1connect.ResourceServiceCreateProcedure
	watchPath  = kubeconnectv1connect.ResourceServiceWatchProcedure
)

func TestGate_RejectsCallersBeforeTheBodyIsReceived(t *testing.T) {
	t.Parallel()
	named := authenticatorFunc(func(http.Header) (auth.Identity, error) { return auth.Identity{}, auth.ErrUnauthenticated })
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: named}, Authorizer: servertest.NewFakeRights(auth.Namespaces{})})
	for version, send := range versions {
		for name, call := range map[string]unfinished{
			"a call":             {path: createPath, contentType: "application/json", begin: `{"struct":`},
			"a call by gRPC":     {path: createPath, contentType: "application/grpc", begin: "\x00\x00"},
			"a call by gRPC-Web": {path: createPath, contentType: "application/grpc-web", begin: "\x00\x00\x00\x00\x01"},
			"a stream":           {path: watchPath, contentType: "application/connect+json", begin: "\x00\x00"},
			"a stream by gRPC":   {path: watchPath, contentType: "application/grpc", begin: "\x00\x00"},
		} {
			t.Run(name+" over "+version, func(t *testing.T) {
				answer := send(call, t, s)
				if answer.status != http.StatusUnauthorized && answer.grpcStatus != "16" && !strings.Contains(answer.body, `"unauthenticated"`) {
					t.Errorf("returned %+v", answer)
				}
			})
		}
	}
}

func TestGate_RejectedCallsLeaveConnectionsUsable(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), &auth.ClusterAuthenticator{})
	conn := dialHTTP1(t, s)
	answers := bufio.NewReader(conn)
	for range 2 {
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", createPath); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(answers, nil)
		if answer := readAnswer(t, response, err); answer.status != http.StatusUnauthorized {
			t.Errorf("returned %+v", answer)
		}
	}
}

func TestGate_BodiesMustBeReceivedInTime(t *testing.T) {
	everything := servertest.NewFakeRights(auth.Namespaces{All: true})
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: byName, BodyTimeout: 50 * time.Millisecond}, Authorizer: everything})
	for version, send := range versions {
		for name, call := range map[string]unfinished{
			"a call":                          {path: createPath, contentType: "application/json", begin: `{"struct":`},
			"a call by gRPC":                  {path: createPath, contentType: "application/grpc", begin: "\x00\x00"},
			"a call by gRPC within a message": {path: createPath, contentType: "application/grpc", begin: "\x00\x00\x00\x10\x00xx"},
			"a call by gRPC after a message":  {path: createPath, contentType: "application/grpc", begin: "\x00\x00\x00\x00\x00"},
			"a stream":                        {path: watchPath, contentType: "application/connect+json", begin: "\x00\x00\x00\x00\x02{}"},
		} {
			t.Run(name+" over "+version, func(t *testing.T) {
				answer := send(call, t, s)
				if answer.status != http.StatusGatewayTimeout && answer.grpcStatus != "4" && !strings.Contains(answer.body, `"deadline_exceeded"`) {
					t.Errorf("returned %+v", answer)
				}
			})
		}
	}
}

// manyQuestions are more questions than a request of CheckAccess can have.
const manyQuestions = 64 << 10

func TestRequests_AreBoundedByWhatTheirMethodCarries(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	s.api.Change = http.NotFoundHandler()
	long := strings.Repeat("x", 512<<10)
	manifest := &kubeconnectv1.PatchRequest{Resource: "pods", Namespace: "default", Name: "a", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE, Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(`{"metadata":{"annotations":{"a":"` + long + `"}}}`)}}
	if _, err := s.resources.Patch(t.Context(), manifest); connect.CodeOf(err) == connect.CodeResourceExhausted {
		t.Errorf("a manifest of %d bytes: %v", len(long), err)
	}
	if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods", Filter: long}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("a filter of %d bytes: %v", len(long), err)
	}
	questions := &kubeconnectv1.CheckAccessRequest{Checks: make([]*kubeconnectv1.AccessCheck, manyQuestions)}
	for i := range questions.Checks {
		questions.Checks[i] = &kubeconnectv1.AccessCheck{}
	}
	access := kubeconnectv1connect.NewAccessServiceClient(s.client(connecthttp.WithSendGzip()))
	if _, err := access.CheckAccess(t.Context(), questions); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("%d questions in a few bytes: %v", manyQuestions, err)
	}
}

func TestGate_CallLimitIsReportedInEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, entered, leave := servertest.PodsAPI(), make(chan struct{}), make(chan struct{})
			api.Change = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				entered <- struct{}{}
				<-leave
			})
			s := newLimitedService(t, api, byName, gate.Limits{Calls: 1}, options...)
			patched := make(chan struct{})
			go func() {
				defer close(patched)
				_, _ = namedClientOf(s, options...).Delete(as(t.Context(), "jane"), &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: "default", Name: "a"})
			}()
			select {
			case <-entered:
			case <-patched:
				t.Fatal("the first call has ended")
			}
			clients := namedClientOf(s, options...)
			statustest.WantOverLimit(t, clients.getPod(t, "jane"), "too many of your calls")
			if err := clients.getPod(t, "joe"); err != nil {
				t.Errorf("another caller: %v", err)
			}
			stream, err := clients.watchPods(t, "jane")
			if err != nil {
				t.Errorf("a stream: %v", err)
			} else {
				_ = stream.Close()
			}
			close(leave)
			<-patched
			if err := clients.getPod(t, "jane"); err != nil {
				t.Errorf("after the call has ended: %v", err)
			}
		})
	}
}

func TestEntrance_HeaderFieldsAreBounded(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 128 {
		request.Header.Set("X-"+strings.Repeat("a", i+1), "")
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge || answer.Header.Get(call.RequestIDHeader) == "" {
		t.Errorf("returned %d with the headers %v", answer.StatusCode, answer.Header)
	}
}
