package edge

import (
	"context"
	"net/http"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
)

// Caller is an authenticated caller, with the headers that it was authenticated by.
type Caller struct {
	Identity      auth.Identity
	Authenticator auth.Authenticator
	Header        http.Header
}

// Identify authenticates the caller again.
func (c Caller) Identify(ctx context.Context) (auth.Identity, error) {
	identity, err := c.Authenticator.Authenticate(ctx, c.Header)
	if err == nil && expired(identity) {
		err = auth.ErrExpired // even if the API server still accepts it, as it does for a minute
	}
	return identity, err
}

// HasExpired reports whether the credential of the caller has expired.
func (c Caller) HasExpired() bool { return expired(c.Identity) }

func expired(identity auth.Identity) bool {
	return !identity.Expires.IsZero() && !time.Now().Before(identity.Expires)
}

type callerContextKey struct{}

// CallerFrom returns the caller of a request. Every handler runs behind a gate, which sets it.
func CallerFrom(ctx context.Context) Caller {
	return ctx.Value(callerContextKey{}).(Caller)
}

// WithCaller returns the context of a request of a caller.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerContextKey{}, caller)
}

// IdentityFrom returns the identity of the caller of a request.
func IdentityFrom(ctx context.Context) auth.Identity { return CallerFrom(ctx).Identity }

// authenticate returns the caller of a request with the given headers.
func authenticate(ctx context.Context, authenticator auth.Authenticator, header http.Header) (Caller, error) {
	calling := Caller{Authenticator: authenticator, Header: header}
	var err error
	calling.Identity, err = calling.Identify(ctx)
	return calling, err
}
