package server

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
)

// authenticate refuses calls whose caller is not known, unary and streaming alike,
// and puts the identity of the others into the context.
type authenticate struct{ authenticator auth.Authenticator }

type identityKey struct{}

// identityFrom is who is calling. Every handler runs behind authenticate.
func identityFrom(ctx context.Context) auth.Identity {
	return ctx.Value(identityKey{}).(auth.Identity)
}

func (a authenticate) identify(ctx context.Context, header http.Header) (context.Context, error) {
	identity, err := a.authenticator.Authenticate(ctx, header)
	if err != nil {
		return nil, err
	}
	return context.WithValue(ctx, identityKey{}, identity), nil
}

// WrapUnary implements connect.Interceptor.
func (a authenticate) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		ctx, err := a.identify(ctx, request.Header())
		if err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (a authenticate) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ctx, err := a.identify(ctx, conn.RequestHeader())
		if err != nil {
			return err
		}
		return next(ctx, conn)
	}
}

// WrapStreamingClient implements connect.Interceptor; this is a server.
func (a authenticate) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
