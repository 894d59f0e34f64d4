package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge"
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
	named := authenticatorFunc(func(http.Header) (auth.Identity, error) { return auth.Identity{}, auth.ErrUnauthenticated })
	s := newServiceOf(t, podsAPI(), Config{Authenticator: named, Authorizer: newFakeRights(auth.Namespaces{})})
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
	s := newService(t, podsAPI(), auth.Cluster{})
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
	everything := newFakeRights(auth.Namespaces{All: true})
	s := newServiceOf(t, podsAPI(), Config{Authenticator: byName, Authorizer: everything, bodyPatience: 50 * time.Millisecond})
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

// deadlines records the deadline that a call sets.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { d.read = at; return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error { d.write = at; return nil }

func TestCall_ReceivedBodiesHaveNoDeadline(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		e := newEntrance(bodyPatience)
		e.handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			time.Sleep(2 * bodyPatience)
		})).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}")))
		if !w.read.IsZero() {
			t.Errorf("reading ends at %s", w.read)
		}
	})
}

func TestRequests_AreBoundedByWhatTheirMethodCarries(t *testing.T) {
	s := newService(t, podsAPI(), auth.KubeconfigUser{})
	s.api.change = http.NotFoundHandler()
	long := strings.Repeat("x", 2*maxRequestBytes)
	manifest := &kubeconnectv1.PatchRequest{Resource: "pods", Namespace: "default", Name: "a", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE, Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(`{"metadata":{"annotations":{"a":"` + long + `"}}}`)}}
	if _, err := s.resources.Patch(t.Context(), manifest); connect.CodeOf(err) == connect.CodeResourceExhausted {
		t.Errorf("a manifest of %d bytes: %v", len(long), err)
	}
	if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods", Filter: long}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("a filter of %d bytes: %v", len(long), err)
	}
	questions := &kubeconnectv1.CheckAccessRequest{Questions: make([]*kubeconnectv1.AccessQuestion, maxQuestionsBytes)}
	for i := range questions.Questions {
		questions.Questions[i] = &kubeconnectv1.AccessQuestion{}
	}
	access := kubeconnectv1connect.NewAccessServiceClient(s.http, s.url, connect.WithSendGzip())
	if _, err := access.CheckAccess(t.Context(), questions); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("%d questions in a few bytes: %v", maxQuestionsBytes, err)
	}
}

func TestRequests_WeighWhatCanBeDecoded(t *testing.T) {
	const limit = 1000
	prefix := func(flags byte, length uint32) string {
		return string(binary.BigEndian.AppendUint32([]byte{flags}, length)) + "the message"
	}
	for name, test := range map[string]struct {
		method, contentType, encoding, body string
		chunked                             bool
		want                                int64
	}{
		"a stated length":           {contentType: "application/json", body: "12345", want: 5},
		"a length above the limit":  {contentType: "application/json", body: strings.Repeat("x", 2*limit), want: limit},
		"an unknown length":         {contentType: "application/json", body: "12345", chunked: true, want: limit},
		"a compressed body":         {contentType: "application/json", encoding: "gzip", body: "12345", want: limit},
		"a message":                 {contentType: "application/grpc", body: prefix(0, 11), chunked: true, want: 11},
		"a compressed message":      {contentType: "application/grpc-web+proto", body: prefix(1, 11), want: limit},
		"a message above the limit": {contentType: "application/connect+json", body: prefix(0, 1<<31), want: limit},
		"no message":                {contentType: "application/grpc", body: "", want: 0},
		"a GET":                     {method: http.MethodGet, want: 8},
	} {
		t.Run(name, func(t *testing.T) {
			if test.method == "" {
				test.method = http.MethodPost
			}
			r := httptest.NewRequestWithContext(t.Context(), test.method, "/?message=", strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.contentType)
			r.Header.Set("Content-Encoding", test.encoding)
			if test.chunked {
				r.ContentLength = -1
			}
			c := newCall(httptest.NewRecorder(), r, "")
			if weight := weightOf(c, limit); weight != test.want {
				t.Errorf("weighs %d, want %d", weight, test.want)
			}
			if body, err := io.ReadAll(c.request.Body); err != nil || !bytes.Equal(body, []byte(test.body)) {
				t.Errorf("parsed %q, %v", body, err)
			}
		})
	}
}

func TestGate_RequestsOfOneCallerDoNotTakeThePlaceOfOthers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		g := &gate{callers: newCallers(edge.Limits{}), requests: newRequestQueue()}
		hold := func(name string) error {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, createPath, nil)
			r.ContentLength = maxManifestBytes
			return g.reserve(t.Context(), newCall(httptest.NewRecorder(), r, ""), connect.Spec{Procedure: createPath}, name)
		}
		var over *edge.LimitError
		if err := hold("jane"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := hold("jane"); !errors.As(err, &over) || time.Since(began) != admitPatience {
			t.Errorf("returned %v after %s", err, time.Since(began))
		}
		if err := hold("joe"); err != nil {
			t.Errorf("another caller: %v", err)
		}
	})
}

func TestGate_CallsAboveTheLimitWaitAndMoreAreRefused(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		g := &gate{callers: newCallers(edge.Limits{}), calls: newCallQueue(20)}
		errs := make(chan error, 2*maxWaitingCalls)
		begin := func(name string) *call {
			c := &call{}
			go func() { errs <- g.beginCall(t.Context(), c, name) }()
			synctest.Wait()
			return c
		}
		first := begin("jane")
		for range 19 + maxWaitingCalls {
			begin("jane")
		}
		begin("jane") // more than allowed
		if len(errs) != 21 {
			t.Fatalf("%d calls do not wait, want the 20 under way and one", len(errs))
		}
		for range 20 {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, <-errs)
		begin("joe")
		if err := <-errs; err != nil {
			t.Errorf("another caller: %v", err)
		}
		for _, release := range first.releases {
			release()
		}
		if err := <-errs; err != nil {
			t.Errorf("the next that has waited: %v", err)
		}
		time.Sleep(admitPatience)
		synctest.Wait()
		if len(errs) != maxWaitingCalls-1 {
			t.Errorf("%d were rejected after their time", len(errs))
		}
		wantRefusal(t, <-errs)
	})
}

func wantRefusal(t *testing.T, err error) {
	t.Helper()
	wantOverLimit(t, edge.ConnectError(err), "too many of your calls")
}

func TestGate_CallLimitIsReportedInEveryProtocol(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			api, entered, leave := podsAPI(), make(chan struct{}), make(chan struct{})
			api.change = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				entered <- struct{}{}
				<-leave
			})
			s := newLimitedService(t, api, byName, edge.Limits{Calls: 1}, options...)
			patched := make(chan struct{})
			go func() {
				defer close(patched)
				client := connect.NewClient[kubeconnectv1.DeleteRequest, kubeconnectv1.DeleteResponse](s.http, s.url+kubeconnectv1connect.ResourceServiceDeleteProcedure, options...)
				_, _ = client.CallUnary(t.Context(), as("jane", &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: "default", Name: "a"}))
			}()
			select {
			case <-entered:
			case <-patched:
				t.Fatal("the first call has ended")
			}
			clients := rawClientsOf(s, options...)
			wantOverLimit(t, clients.getPod(t, "jane"), "too many of your calls")
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
