package streamlife

import (
	"context"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// CancelOnShutdown ends open streams when the service begins to shut down. Otherwise they would not
// end, because an HTTP server that shuts down waits for them.
type CancelOnShutdown struct {
	call.ServerOnly
	OnShutdown func(end func()) (remove func() bool)
}

// WrapUnary implements connect.Interceptor. Unary calls may finish.
func (CancelOnShutdown) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor.
func (e CancelOnShutdown) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer e.OnShutdown(func() { cancel(callerrors.ErrShuttingDown) })()
		return next(ctx, conn)
	}
}
