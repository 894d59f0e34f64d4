package tracing

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
)

// parent is a valid traceparent.
const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// apiServer records the headers of a request.
type apiServer struct{ header http.Header }

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.header = r.Header
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func TestTransport_PassesOnBoundedHeadersOfTheTrace(t *testing.T) {
	for name, test := range map[string]struct{ sent, want http.Header }{
		"a trace": {
			http.Header{"Traceparent": {parent}, "Tracestate": {"vendor=value"}},
			http.Header{"Traceparent": {parent}, "Tracestate": {"vendor=value"}},
		},
		"baggage": {
			http.Header{"Traceparent": {parent}, "Baggage": {"key=value", "invalid;;=="}},
			http.Header{"Traceparent": {parent}},
		},
		"the longest state": {
			http.Header{"Traceparent": {parent}, "Tracestate": {longState(maxTraceState)}},
			http.Header{"Traceparent": {parent}, "Tracestate": {longState(maxTraceState)}},
		},
		"a state that is too long": {
			http.Header{"Traceparent": {parent}, "Tracestate": {longState(maxTraceState + 1)}},
			http.Header{"Traceparent": {parent}},
		},
		"no valid trace": {http.Header{"Traceparent": {"00-0-0-01"}, "Tracestate": {"vendor=value"}}, http.Header{}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &apiServer{}
			ctx := Propagator.Extract(t.Context(), propagation.HeaderCarrier(test.sent))
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api/api/v1/pods", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := Transport(api).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			for _, header := range []string{"Traceparent", "Tracestate", "Baggage"} {
				if got, want := api.header.Get(header), test.want.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
		})
	}
}

// longState returns a valid tracestate of a length.
func longState(length int) string {
	state := "a=" + strings.Repeat("x", 250) + ",b=" + strings.Repeat("x", 250) + ",c="
	return state + strings.Repeat("x", length-len(state))
}
