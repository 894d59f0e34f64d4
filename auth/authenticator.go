package auth

import (
	"context"
	"errors"
	"net/http"
)

// ErrUnauthenticated reports that a caller could not be authenticated.
var ErrUnauthenticated = errors.New("unauthenticated")

// ErrExpired is an [ErrUnauthenticated] for a credential that has expired.
var ErrExpired = unauthenticated("the credential has expired: call again with a new one")

// Authenticator authenticates callers. Implementations are safe for concurrent use. An
// [ErrUnauthenticated] contains the problem and its solution, and never a credential. After any
// other error the caller's identity is unknown: the call must be rejected too, but can be retried.
type Authenticator interface {
	Authenticate(ctx context.Context, header http.Header) (Identity, error)
}

// KubeconfigAuthenticator identifies every caller as the user of the service's own client
// configuration. Use it only behind [LoopbackOnly].
type KubeconfigAuthenticator struct{}

// Authenticate implements [Authenticator].
func (KubeconfigAuthenticator) Authenticate(context.Context, http.Header) (Identity, error) {
	return Identity{own: true}, nil
}
