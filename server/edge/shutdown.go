package edge

import (
	"context"

	"connectrpc.com/connect"
)

// cancelOnShutdown ends open streams when the service begins to shut down. Otherwise they would not
// end, because an HTTP server that shuts down waits for them.
type cancelOnShutdown struct {
	serverOnly
	onShutdown func(end func()) (remove func() bool)
}

// WrapUnary implements connect.Interceptor. Unary calls may finish.
func (cancelOnShutdown) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor.
func (e cancelOnShutdown) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer e.onShutdown(func() { cancel(errShuttingDown) })()
		return next(ctx, conn)
	}
}
