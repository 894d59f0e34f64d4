package edge

import (
	"context"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/trace"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// notesBegin are the streams whose parts call [StreamPart.NoteBegun]. Other streams begin with their first message.
var notesBegin = map[string]bool{
	kubeconnectv1connect.ResourceServiceWatchProcedure:       true,
	kubeconnectv1connect.ResourceServiceWatchManyProcedure:   true,
	kubeconnectv1connect.ResourceServiceWatchCountsProcedure: true,
}

// traceStreams returns the options of streams, if calls are traced.
func traceStreams(tracer trace.Tracer) func(connect.Spec) []connect.HandlerOption {
	return func(spec connect.Spec) []connect.HandlerOption {
		if tracer == nil || !isStream(spec) {
			return nil
		}
		return []connect.HandlerOption{connect.WithInterceptors(tracedStreams{})}
	}
}

// tracedStreams determines when streams have begun.
type tracedStreams struct{ serverOnly }

// WrapUnary implements connect.Interceptor.
func (tracedStreams) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor.
func (tracedStreams) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return next(ctx, tracedConn{conn, callFrom(ctx)})
	}
}

type tracedConn struct {
	connect.StreamingHandlerConn
	call *call
}

// Receive implements connect.StreamingHandlerConn.
func (c tracedConn) Receive(message any) error {
	err := c.StreamingHandlerConn.Receive(message)
	if many, ok := message.(*kubeconnectv1.WatchManyRequest); ok && err == nil {
		c.call.span.toBegin.Store(int32(len(many.GetWatches()) + len(many.GetCounts())))
	}
	return err
}

// Send implements connect.StreamingHandlerConn.
func (c tracedConn) Send(message any) error {
	err := c.StreamingHandlerConn.Send(message)
	if err == nil && !notesBegin[c.Spec().Procedure] {
		c.call.noteBegun()
	}
	return err
}
