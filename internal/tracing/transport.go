package tracing

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Propagator reads and writes the context of callers: the headers traceparent and tracestate of W3C. The
// header baggage is not passed on: requests to the API server that several callers share, or that are made
// with the service's credential, would have what one caller has put there.
var Propagator propagation.TextMapPropagator = propagator{}

// maxTraceState is the maximum length of tracestate: what W3C asks every system to pass on. A longer one
// is dropped, because a stream keeps it while it is open.
const maxTraceState = 512

type propagator struct{ propagation.TraceContext }

// Extract implements propagation.TextMapPropagator.
func (p propagator) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return p.TraceContext.Extract(ctx, boundedCarrier{carrier})
}

// boundedCarrier has no header that is too long.
type boundedCarrier struct{ propagation.TextMapCarrier }

// Get implements propagation.TextMapCarrier.
func (c boundedCarrier) Get(key string) string {
	if value := c.TextMapCarrier.Get(key); len(value) <= maxTraceState {
		return value
	}
	return ""
}

// Transport returns a transport to the API server that begins a span for each request below a span that
// is recorded, and passes the context of a request on. The span ends with the headers of the response,
// because a watch or a followed log can be open for hours.
//
// It is used instead of otelhttp, whose spans have the whole URL: the names of objects, and selectors.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ http.RoundTripper }

// WrappedRoundTripper gives client-go access to the inner transport.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !trace.SpanContextFromContext(request.Context()).IsValid() {
		return t.RoundTripper.RoundTrip(request)
	}
	ctx, span := Begin(request.Context(), request.Method, trace.WithSpanKind(trace.SpanKindClient))
	describeRequest(span, request)
	request = utilnet.CloneRequest(request).WithContext(ctx)
	Propagator.Inject(ctx, propagation.HeaderCarrier(request.Header))
	response, err := t.RoundTripper.RoundTrip(request)
	endRequest(span, response, err)
	return response, err
}

func describeRequest(span trace.Span, request *http.Request) {
	if !span.IsRecording() {
		return
	}
	template := pathTemplate(request.URL.Path)
	span.SetName(request.Method + " " + template)
	span.SetAttributes(
		semconv.HTTPRequestMethodKey.String(request.Method), semconv.URLTemplate(template),
		semconv.ServerAddress(request.URL.Hostname()),
	)
}

func endRequest(span trace.Span, response *http.Response, err error) {
	if span.IsRecording() && err == nil {
		span.SetAttributes(semconv.HTTPResponseStatusCode(response.StatusCode))
		if response.StatusCode >= http.StatusBadRequest {
			SetError(span, strconv.Itoa(response.StatusCode))
		}
	}
	End(span, err)
}

// pathTemplate returns the path of a request to the API server with placeholders for the namespace
// and the name. A path that is not about resources is returned up to its first segment.
func pathTemplate(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	api := slices.IndexFunc(segments, func(segment string) bool { return segment == "api" || segment == "apis" })
	if api < 0 {
		return "/" + segments[0]
	}
	resource := api + 2 // after the version: api/v1, apis/GROUP/VERSION
	if segments[api] == "apis" {
		resource++
	}
	if len(segments) > resource+2 && segments[resource] == "namespaces" && !isNamespacePart[segments[resource+2]] {
		segments[resource+1] = "{namespace}"
		resource += 2
	}
	if len(segments) > resource+1 {
		segments[resource+1] = "{name}"
	}
	return "/" + strings.Join(segments[:min(len(segments), resource+3)], "/") // without what a proxy is asked for
}

// isNamespacePart has the subresources of namespaces.
var isNamespacePart = map[string]bool{"status": true, "finalize": true}
