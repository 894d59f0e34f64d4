package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// unreadable are requests for List that connect answers before any interceptor, because their headers or their query are
// invalid. The value is repeated in the place of %.
var unreadable = map[string]struct{ method, query, contentType, header, value string }{
	"timeout of Connect":             {http.MethodPost, "", "application/json", "Connect-Timeout-Ms", "%"},
	"version of Connect":             {http.MethodPost, "", "application/json", "Connect-Protocol-Version", "%"},
	"compression of Connect":         {http.MethodPost, "", "application/json", "Content-Encoding", "%"},
	"compression of gRPC":            {http.MethodPost, "", "application/grpc", "Grpc-Encoding", "%"},
	"timeout of gRPC":                {http.MethodPost, "", "application/grpc", "Grpc-Timeout", "%"},
	"compression of gRPC-Web":        {http.MethodPost, "", "application/grpc-web", "Grpc-Encoding", "%"},
	"media type":                     {http.MethodPost, "", "text/%", "", ""},
	"version by GET":                 {http.MethodGet, "?encoding=json&message={}&connect=%", "", "", ""},
	"compression by GET":             {http.MethodGet, "?encoding=json&message={}&compression=%", "", "", ""},
	"encoding by GET":                {http.MethodGet, "?message={}&encoding=%", "", "", ""},
	"message by GET that is missing": {http.MethodGet, "?encoding=json&connect=v1&x=%", "", "", ""},
}

// send sends one of these requests, with a value of a length, and returns the response with its body.
func sendUnreadable(ctx context.Context, t *testing.T, s *service, name string, length int) (answer *http.Response, body string) {
	t.Helper()
	of, long := unreadable[name], strings.Repeat("x", length)
	request, err := http.NewRequestWithContext(ctx, of.method,
		s.url+kubeconnectv1connect.ResourceServiceListProcedure+strings.ReplaceAll(of.query, "%", long), strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", strings.ReplaceAll(of.contentType, "%", long))
	request.Header.Set("Te", "trailers")
	if of.header != "" {
		request.Header.Set(of.header, strings.ReplaceAll(of.value, "%", long))
	}
	if answer, err = s.http.Do(request); err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func TestUnreadable_RequestsAreCountedAndTheirErrorsAreShort(t *testing.T) {
	for name := range unreadable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCountedService(t)
			for _, length := range []int{1, 20_000} {
				answer, body := sendUnreadable(t.Context(), t, s.service, name, length)
				size := len(body)
				for _, headers := range []http.Header{answer.Header, answer.Trailer} {
					for header, values := range headers {
						size += len(header) + len(strings.Join(values, ""))
					}
				}
				if size > 8<<10 {
					t.Errorf("with %d bytes the error has %d", length, size)
				}
			}
			awaitCalls(t, s, 2)
		})
	}
}

// awaitCalls waits until a number of calls of List that have failed are counted: a call ends after its response.
func awaitCalls(t *testing.T, s countedService, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		lines := strings.Join(metricstest.Lines(t, s, "kubeconnect_calls_total"), "\n")
		if strings.Contains(lines, fmt.Sprintf(`procedure="/kubeconnect.v1.ResourceService/List"} %d`, want)) && !strings.Contains(lines, `code="ok"`) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("counted are %q, want %d", metricstest.Lines(t, s, "kubeconnect_calls_total"), want)
}

// TestMalformed_RequestsAreErrorsOfTheirClients sends what no client of the protocol would send. The calls are admitted before
// their message is read.
func TestMalformed_RequestsAreErrorsOfTheirClients(t *testing.T) {
	const list, watch = kubeconnectv1connect.ResourceServiceListProcedure, kubeconnectv1connect.ResourceServiceWatchProcedure
	for name, test := range map[string]struct{ method, path, contentType, body string }{
		"base64 of a message by GET":    {http.MethodGet, list + "?connect=v1&encoding=json&base64=1&message=%25%25", "", ""},
		"prefix that is cut off":        {http.MethodPost, watch, "application/connect+json", "\x00\x00"},
		"message that is cut off":       {http.MethodPost, watch, "application/connect+json", "\x00\x00\x00\x00\x09{}"},
		"flags that do not exist":       {http.MethodPost, watch, "application/connect+json", "\x44\x00\x00\x00\x02{}"},
		"compression that is not named": {http.MethodPost, watch, "application/connect+json", "\x01\x00\x00\x00\x02{}"},
		"gRPC: cut off":                 {http.MethodPost, list, "application/grpc", "\x00\x00\x00\x00\x09{}"},
		"gRPC: flags":                   {http.MethodPost, list, "application/grpc", "\x44\x00\x00\x00\x02{}"},
		"gRPC: compression":             {http.MethodPost, list, "application/grpc", "\x01\x00\x00\x00\x02{}"},
		"gRPC-Web: cut off":             {http.MethodPost, list, "application/grpc-web", "\x00\x00\x00\x00\x09{}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCountedService(t)
			request, err := http.NewRequestWithContext(t.Context(), test.method, s.url+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer t") // a read by GET needs one
			request.Header.Set("Who", "jane")
			request.Header.Set("Content-Type", test.contentType)
			request.Header.Set("Te", "trailers")
			answer, err := s.http.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			text := fmt.Sprintf("%s%v%v", body, answer.Header, answer.Trailer)
			isInvalid := strings.Contains(text, "invalid_argument") || strings.Contains(text, "Grpc-Status:[3]") || strings.Contains(text, "grpc-status: 3")
			if err != nil || !isInvalid || !strings.Contains(text, "the request cannot be read") {
				t.Errorf("the response is %s, %v; want the code invalid_argument", text, err)
			}
		})
	}
}

func TestUnknownServices_DoNotExist(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	for _, option := range []connecthttp.Option{connecthttp.WithReadMaxBytes(0), connecthttp.WithGRPC(), connecthttp.WithGRPCWeb()} {
		for _, procedure := range []string{"/kubeconnect.v1.FutureService/Do", "/kubeconnect.v1.ResourceService/Do", "/grpc.health.v1.Health/List"} {
			err := s.client(option).CallUnary(t.Context(), connect.Spec{Procedure: procedure}, &kubeconnectv1.WhoAmIRequest{}, &kubeconnectv1.WhoAmIResponse{})
			if connect.CodeOf(err) != connect.CodeUnimplemented {
				t.Errorf("%s: %v", procedure, err)
			}
		}
	}
}
