package auth

import (
	"context"
	"errors"
	"net/http"
)

// ErrUnauthenticated says that a caller could not be identified.
var ErrUnauthenticated = errors.New("unauthenticated")

// ErrExpired is an [ErrUnauthenticated]: the credential was good only until now.
var ErrExpired = unauthenticated("the credential has expired: call again with a new one")

// Authenticator finds out who is calling. Implementations are safe for concurrent
// use. An error that is [ErrUnauthenticated] says in its text what was wrong and what
// to do, and never repeats a credential. With any other error it is not known who is
// calling, and the call must be refused too, but may be tried again.
type Authenticator interface {
	Authenticate(ctx context.Context, header http.Header) (Identity, error)
}

// KubeconfigUser takes every caller for the user of the service's own client
// configuration. Serve it behind [Loopback] only.
type KubeconfigUser struct{}

// Authenticate implements [Authenticator].
func (KubeconfigUser) Authenticate(context.Context, http.Header) (Identity, error) {
	return Identity{own: true}, nil
}
