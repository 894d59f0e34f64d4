package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// scope is the instrumentation scope of all spans.
const scope = "github.com/kubeconnect/kubeconnect"

// Tracer returns the tracer of all spans; nil without a provider.
func Tracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return nil
	}
	return provider.Tracer(scope)
}

// Begin begins a span below the one in ctx, if that is recorded. The caller must call [End]. Without a
// recorded span, Begin returns ctx and a span that records nothing.
func Begin(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, none
	}
	return Tracer(parent.TracerProvider()).Start(ctx, name, options...)
}

// none records nothing.
var none trace.Span = noop.Span{}

// Continue returns a context with the recorded span of another one, whose deadline and other values it
// does not have. Without a recorded span it returns ctx.
func Continue(traced, ctx context.Context) context.Context {
	span := trace.SpanFromContext(traced)
	if !span.IsRecording() {
		return ctx
	}
	return trace.ContextWithSpan(ctx, span)
}

// End ends a span, with the type of the error; a nil error is none.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		SetError(span, errorType(err))
	}
	span.End()
}

// SetError marks a span as failed, with the type of its error.
func SetError(span trace.Span, errorType string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType))
	span.SetStatus(codes.Error, errorType)
}

// SetResource sets the resource that a span is about.
func SetResource(span trace.Span, resource interface{ String() string }) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String("kubeconnect.resource", resource.String()))
	}
}

// errorType returns a name of an error's kind, which has nothing of its message.
func errorType(err error) string {
	switch reason := apierrors.ReasonForError(err); {
	case reason != "":
		return string(reason)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return semconv.ErrorTypeOther.Value.AsString()
}

// Note adds an event to the span in ctx, if that is recorded.
func Note(ctx context.Context, event string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent(event)
	}
}

// Wait is the span of a wait that may not be needed. The zero value has not begun. It is not safe for
// concurrent use.
type Wait struct{ span trace.Span }

// Begin begins the span below the one in ctx, if that is recorded. Further calls have no effect.
func (w *Wait) Begin(ctx context.Context, name string) {
	if w.span == nil {
		_, w.span = Begin(ctx, name)
	}
}

// End ends the span, if it has begun.
func (w *Wait) End() {
	if w.span != nil {
		w.span.End()
	}
}
