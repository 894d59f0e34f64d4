package server

import (
	"context"
	"net/http"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
)

// authenticatedCaller is an authenticated caller, with the headers that it was authenticated by.
type authenticatedCaller struct {
	identity      auth.Identity
	authenticator auth.Authenticator
	header        http.Header
}

// identify authenticates the caller again.
func (c authenticatedCaller) identify(ctx context.Context) (auth.Identity, error) {
	identity, err := c.authenticator.Authenticate(ctx, c.header)
	if err == nil && expired(identity) {
		err = auth.ErrExpired // even if the API server still accepts it, as it does for a minute
	}
	return identity, err
}

func (c authenticatedCaller) hasExpired() bool { return expired(c.identity) }

func expired(identity auth.Identity) bool {
	return !identity.Expires.IsZero() && !time.Now().Before(identity.Expires)
}

type callerKey struct{}

// callerFrom returns the caller of a request. Every handler runs behind a gate, which sets it.
func callerFrom(ctx context.Context) authenticatedCaller {
	return ctx.Value(callerKey{}).(authenticatedCaller)
}

func identityFrom(ctx context.Context) auth.Identity { return callerFrom(ctx).identity }

func identify(ctx context.Context, authenticator auth.Authenticator, header http.Header) (authenticatedCaller, error) {
	calling := authenticatedCaller{authenticator: authenticator, header: header}
	var err error
	calling.identity, err = calling.identify(ctx)
	return calling, err
}
