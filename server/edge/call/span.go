package call

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// span is the span of a call, from its headers until its handler has returned. The span of a stream
// ends when the stream has begun: when its client has the first complete state, or a first message. A
// stream can be open for an hour, and exporters and their backends see a span only when it ends. What
// happens to the stream later has short spans below it.
//
// The interceptor of connectrpc.com/otelconnect is not used: it would begin after the caller is
// authenticated, not see the calls that the gate rejects, and end with the stream.
type span struct {
	tracer   trace.Tracer
	span     trace.Span   // nil without traces
	toBegin  atomic.Int32 // parts of a stream that have not begun
	hasBegun atomic.Bool  // the span has ended, because the stream has begun
}

// BeginSpan begins the span of a call, below that of its caller, and returns the context of the call.
func (c *Call) BeginSpan(ctx context.Context, tracer trace.Tracer, protocol string) context.Context {
	if tracer == nil {
		return ctx
	}
	ctx = tracing.Propagator.Extract(ctx, propagation.HeaderCarrier(c.Request.Header))
	c.span.tracer = tracer
	c.span.toBegin.Store(1)
	ctx, c.span.span = tracer.Start(ctx, c.spanName(),
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(c.Record.Began),
		trace.WithAttributes(
			semconv.RPCSystemNameConnectrpc, semconv.RPCMethod(c.spanName()),
			attribute.String("kubeconnect.protocol", protocol),
			attribute.String("kubeconnect.request_id", c.Record.ID),
		))
	c.OnEnd(c.endSpan)
	return ctx
}

func (c *Call) spanName() string { return strings.TrimPrefix(c.Record.Procedure, "/") }

// traceID returns the ID of the trace of a call, if it is recorded.
func (s *span) traceID() string {
	if s.span == nil || !s.span.SpanContext().IsSampled() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// endSpan ends the span of a call that has ended. If the span has ended before, because a stream has
// begun, the end of the stream has a span.
func (c *Call) endSpan() {
	span := c.span.span
	if c.span.hasBegun.Load() {
		_, span = c.span.below(c.spanName() + " end")
	}
	defer span.End()
	c.describeSpan(span)
	span.SetAttributes(semconv.RPCResponseStatusCode(codeName(c.Record.Err)))
	if c.Record.Err != nil && slices.Contains(serverErrors, connect.CodeOf(c.Record.Err)) {
		tracing.SetError(span, codeName(c.Record.Err))
	}
}

// serverErrors are the codes that mark a span as failed, as OpenTelemetry specifies for servers of gRPC.
// The others are errors of callers.
var serverErrors = []connect.Code{
	connect.CodeUnknown, connect.CodeDeadlineExceeded, connect.CodeUnimplemented, connect.CodeInternal,
	connect.CodeUnavailable, connect.CodeDataLoss,
}

// describeSpan sets what is known about a call. The user, the name of an object and texts of requests are
// omitted; the line of the request's ID in the log has them.
func (c *Call) describeSpan(span trace.Span) {
	if !span.IsRecording() {
		return
	}
	r := &c.Record
	span.SetAttributes(
		attribute.String("kubeconnect.resource", r.servedResource()),
		attribute.String("kubeconnect.namespace", r.subjectOf().namespace),
		attribute.Int64("kubeconnect.objects", r.objects.Load()),
		attribute.Int64("kubeconnect.bytes", r.bytes.Load()),
		attribute.Float64("kubeconnect.seconds", time.Since(r.Began).Seconds()),
	)
}

// below begins a span below that of the call, which can have ended.
func (s *span) below(name string) (context.Context, trace.Span) {
	return s.tracer.Start(trace.ContextWithSpan(context.Background(), s.span), name)
}

// noteBegun records that a part of a stream has begun, once for each part. When all have, it ends the
// span of the call. It can be called concurrently.
func (c *Call) noteBegun() {
	if c.span.span == nil || c.span.toBegin.Add(-1) != 0 {
		return
	}
	c.describeSpan(c.span.span)
	c.span.span.End()
	c.span.hasBegun.Store(true)
}

// NoteBegun records that the client has the first complete state of a part of a stream, or will have none: once
// for each part. It can be called concurrently.
func NoteBegun(ctx context.Context) {
	if c := From(ctx); c != nil {
		c.Record.begun.Store(true)
		c.noteBegun()
	}
}

// NoteReset records that a part of a stream, which has begun, begins a snapshot.
func NoteReset(ctx context.Context) {
	if c := From(ctx); c != nil && c.span.span != nil {
		_, span := c.span.below(c.spanName() + " reset")
		span.End()
	}
}

// notesBegin are the streams whose parts call [NoteBegun]. Other streams begin with their first message.
var notesBegin = map[string]bool{
	kubeconnectv1connect.ResourceServiceWatchProcedure:       true,
	kubeconnectv1connect.ResourceServiceWatchManyProcedure:   true,
	kubeconnectv1connect.ResourceServiceWatchCountsProcedure: true,
}

// TraceStreams is the interceptor that determines when streams have begun. It is needed only for calls with spans.
func TraceStreams(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		if !IsStream(spec) {
			return next(ctx, spec, stream)
		}
		return next(ctx, spec, &tracedStream{stream, From(ctx)})
	}
}

// tracedStream is a stream whose beginning is recorded.
type tracedStream struct {
	connect.ServerStream
	call *Call
}

// Receive implements connect.ServerStream.
func (s *tracedStream) Receive(message any) error {
	err := s.ServerStream.Receive(message)
	if many, ok := message.(*kubeconnectv1.WatchManyRequest); ok && err == nil {
		s.call.span.toBegin.Store(int32(len(many.GetWatches()) + len(many.GetCounts())))
	}
	return err
}

// Send implements connect.ServerStream.
func (s *tracedStream) Send(message any) error {
	err := s.ServerStream.Send(message)
	if err == nil && !notesBegin[s.call.Record.Procedure] {
		s.call.noteBegun()
	}
	return err
}
