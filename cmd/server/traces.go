package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
	"github.com/kubeconnect/kubeconnect/internal/tracing"
	"github.com/kubeconnect/kubeconnect/internal/version"
)

const (
	// stopTracesTimeout bounds the export of the last spans at shutdown.
	stopTracesTimeout = 2 * time.Second
	// tracesLogInterval is the interval in which an error of the export is logged once.
	tracesLogInterval = time.Minute
)

// traces exports the spans of the service. Ended spans are queued and exported in the background; those
// that the queue has no place for are dropped, so that no call waits for the collector. The methods of a
// nil traces do nothing.
type traces struct{ provider *sdktrace.TracerProvider }

// newTraces returns traces that are exported, sampled and bounded as the environment variables of
// OpenTelemetry say; nil if they are off. The caller must call stop.
func newTraces(ctx context.Context, on bool) (*traces, error) {
	if !on {
		return nil, nil
	}
	otel.SetErrorHandler(&traceErrors{})
	otel.SetLogger(logr.New(traceProblems{}))
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("--tracing: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("kubeconnect"), semconv.ServiceVersion(version.Number), semconv.ServiceInstanceID(replicaName()),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("--tracing: %w", err)
	}
	return &traces{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// newExporter returns an exporter by the protocol that the environment variables name. It does not
// connect before the first export.
func newExporter(ctx context.Context) (*otlptrace.Exporter, error) {
	switch protocol := otlpProtocol(); protocol {
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q: must be \"http/protobuf\" or \"grpc\"", protocol)
	}
}

// otlpProtocol returns the protocol of the exporter; OpenTelemetry's default is http/protobuf.
func otlpProtocol() string {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := strings.TrimSpace(os.Getenv(name)); protocol != "" {
			return protocol
		}
	}
	return "http/protobuf"
}

// tracer returns the tracer of the service; nil without traces.
func (t *traces) tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return tracing.Tracer(t.provider)
}

// transport returns a transport to the API server that is traced.
func (t *traces) transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return tracing.Transport(next)
}

// stop exports the last spans, for stopTracesTimeout at most.
//
//nolint:contextcheck // after the context of the service is done
func (t *traces) stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTracesTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		slog.Warn("the last spans were not exported", "error", err)
	}
}

// traceErrors logs why spans are not exported.
type traceErrors struct {
	mu       sync.Mutex // guards loggedAt
	loggedAt time.Time
}

// Handle implements otel.ErrorHandler.
func (e *traceErrors) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.loggedAt) < tracesLogInterval {
		return
	}
	e.loggedAt = time.Now()
	slog.Warn("spans are not exported", "error", logging.Shortened(err.Error()))
}

// traceProblems logs the problems that OpenTelemetry reports, such as a variable that it cannot parse, without
// their values and errors: these have the credentials of the collector.
type traceProblems struct{}

// Init implements logr.LogSink.
func (traceProblems) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (traceProblems) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (traceProblems) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (traceProblems) Error(_ error, problem string, _ ...any) {
	slog.Error("a setting of OpenTelemetry cannot be used: correct its environment variables", "problem", problem)
}

// WithValues implements logr.LogSink.
func (p traceProblems) WithValues(...any) logr.LogSink { return p }

// WithName implements logr.LogSink.
func (p traceProblems) WithName(string) logr.LogSink { return p }
