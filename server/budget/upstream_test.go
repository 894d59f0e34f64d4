package budget

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// TestLiveBody_FailsPermanently reads on, and sends another request, after there was no memory for a response, when others
// have released some.
func TestLiveBody_FailsPermanently(t *testing.T) {
	budget := &Responses{Upstream: fairqueue.New(fairqueue.Limits{Total: upstreamStep}), MaxUpstream: 8 * upstreamStep}
	release, ok := budget.Upstream.TryAcquire("another", upstreamStep)
	if !ok {
		t.Fatal("there is no memory")
	}
	call := &callMemory{budget: budget}
	body := &upstreamBody{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", upstreamStep))), upstreamTransport: upstreamTransport{call: call, caller: "jane"}}
	if _, err := io.ReadAll(body); !errors.Is(err, errNotReserved) {
		t.Errorf("the response is read without memory: %v", err)
	}
	why := call.upstreamErr
	release()
	if _, err := body.RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil)); !errors.Is(err, errNotReserved) {
		t.Errorf("a further request is sent: %v", err)
	}
	if n, err := io.Copy(io.Discard, body); n > 0 || !errors.Is(err, errNotReserved) || call.upstreamErr != why || why == nil {
		t.Errorf("%d more bytes are read, %v; the call says %v, and said %v", n, err, call.upstreamErr, why)
	}
}
