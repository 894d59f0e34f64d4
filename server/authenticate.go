package server

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
)

// authenticate refuses calls whose caller is not known, unary and streaming alike,
// and puts the caller of the others into the context.
type authenticate struct{ authenticator auth.Authenticator }

// identified is who is calling, and by what that is known.
type identified struct {
	identity      auth.Identity
	authenticator auth.Authenticator
	header        http.Header
}

// identify finds out anew who is calling.
func (c identified) identify(ctx context.Context) (auth.Identity, error) {
	identity, err := c.authenticator.Authenticate(ctx, c.header)
	if err == nil && expired(identity) {
		err = auth.ErrExpired // even if the cluster still takes it, as it does for a minute
	}
	return identity, err
}

func (c identified) hasExpired() bool { return expired(c.identity) }

func expired(identity auth.Identity) bool {
	return !identity.Expires.IsZero() && !time.Now().Before(identity.Expires)
}

type callerKey struct{}

// callerFrom is who is calling. Every handler runs behind authenticate.
func callerFrom(ctx context.Context) identified { return ctx.Value(callerKey{}).(identified) }

func identityFrom(ctx context.Context) auth.Identity { return callerFrom(ctx).identity }

func (a authenticate) identify(ctx context.Context, header http.Header) (context.Context, error) {
	calling := identified{authenticator: a.authenticator, header: header}
	var err error
	if calling.identity, err = calling.identify(ctx); err != nil {
		return nil, err
	}
	return context.WithValue(ctx, callerKey{}, calling), nil
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
