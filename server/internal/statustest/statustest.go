// Package statustest reads what a caller receives of an error, for tests.
package statustest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// overhead is the number of bytes that HTTP/2 and gRPC add to each trailer.
const overhead = 32

// Of returns the Status of an error, or nil if it has none.
func Of(t testing.TB, err error) *kubeconnectv1.Status {
	t.Helper()
	var coded *connect.Error
	if !errors.As(err, &coded) {
		t.Fatalf("no Connect error: %v", err)
	}
	if len(coded.Details()) == 0 {
		return nil
	}
	value, err := connectproto.UnmarshalErrorDetail(coded.Details()[0])
	if err != nil {
		t.Fatal(err)
	}
	return value.(*kubeconnectv1.Status)
}

// Trailers returns the trailers that gRPC sends for an error, and their size as HTTP/2 counts
// it.
func Trailers(t testing.TB, err error) (http.Header, int) {
	t.Helper()
	server, mux := connect.NewServer(), http.NewServeMux()
	server.Register(connect.Method{Spec: connect.Spec{Procedure: "/a.B/C"}, Handler: func(context.Context, connect.Spec, connect.ServerStream) error {
		return err
	}})
	connecthttp.Mount(mux, server)
	recorder := &trailerRecorder{header: http.Header{}}
	request, _ := http.NewRequest(http.MethodPost, "/a.B/C", strings.NewReader("\x00\x00\x00\x00\x00"))
	request.Header.Set("Content-Type", "application/grpc")
	request.ProtoMajor, request.ProtoMinor = 2, 0
	mux.ServeHTTP(recorder, request)
	trailers, size := http.Header{}, 0
	for name, values := range recorder.header {
		name, isTrailer := strings.CutPrefix(name, http.TrailerPrefix)
		if !isTrailer {
			continue
		}
		trailers[name] = values
		for _, value := range values {
			size += len(name) + len(value) + overhead
		}
	}
	if trailers.Get("Grpc-Status") == "" {
		t.Fatalf("the trailers are %v", trailers)
	}
	return trailers, size
}

// JSON returns the size of the body of a call of Connect that fails with an error, and of the message that
// ends a stream with it.
func JSON(t testing.TB, err error) (call, stream int) {
	t.Helper()
	for contentType, size := range map[string]*int{"application/json": &call, "application/connect+json": &stream} {
		request := httptest.NewRequest(http.MethodPost, "/a.B/C", nil)
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Connect-Protocol-Version", "1")
		recorder := httptest.NewRecorder()
		if err := connecthttp.NewErrorWriter().Write(recorder, request, err); err != nil {
			t.Fatal(err)
		}
		*size = recorder.Body.Len()
	}
	return call, stream
}

// trailerRecorder records the header of a response, which net/http uses for trailers too.
type trailerRecorder struct{ header http.Header }

func (r *trailerRecorder) Header() http.Header         { return r.header }
func (r *trailerRecorder) Write(p []byte) (int, error) { return len(p), nil }
func (r *trailerRecorder) WriteHeader(int)             {}
func (r *trailerRecorder) Flush()                      {}

// WantOverLimit fails unless an error reports a limit, with words, and when to retry.
func WantOverLimit(t testing.TB, err error, words string) {
	t.Helper()
	status := Of(t, err)
	if connect.CodeOf(err) != connect.CodeResourceExhausted || status.GetReason() != "TooManyRequests" || status.GetRetryAfterSeconds() < 1 {
		t.Errorf("returned %v with %v", err, status)
	}
	if !strings.Contains(status.GetMessage(), words) {
		t.Errorf("the message is %q, want %q in it", status.GetMessage(), words)
	}
}
