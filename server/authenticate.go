package server

import (
	"context"
	"net/http"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
)

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

// callerFrom is who is calling. Every handler runs behind a gate.
func callerFrom(ctx context.Context) identified { return ctx.Value(callerKey{}).(identified) }

func identityFrom(ctx context.Context) auth.Identity { return callerFrom(ctx).identity }

func identify(ctx context.Context, authenticator auth.Authenticator, header http.Header) (identified, error) {
	calling := identified{authenticator: authenticator, header: header}
	var err error
	calling.identity, err = calling.identify(ctx)
	return calling, err
}
