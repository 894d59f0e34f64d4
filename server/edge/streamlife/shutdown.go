package streamlife

import (
	"context"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// CancelOnShutdown returns an interceptor that ends open streams when the service begins to shut down. Otherwise
// they would not end, because an HTTP server that shuts down waits for them. Unary calls may finish.
func CancelOnShutdown(onShutdown func(end func()) (remove func() bool)) connect.ServerInterceptor {
	return func(next connect.ServerFunc) connect.ServerFunc {
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			if !call.IsStream(spec) {
				return next(ctx, spec, stream)
			}
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer onShutdown(func() { cancel(callerrors.ErrShuttingDown) })()
			return next(ctx, spec, stream)
		}
	}
}
