package call

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

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

// Authenticate returns the caller of a request with the given headers.
func Authenticate(ctx context.Context, authenticator auth.Authenticator, header http.Header) (Caller, error) {
	calling := Caller{Authenticator: authenticator, Header: header}
	var err error
	calling.Identity, err = calling.Identify(ctx)
	return calling, err
}

// CallerKey returns the key by which limits distinguish callers: the user, whichever credential or
// pod it calls from. A user with many tokens therefore has no higher limits. Keys of different users
// differ, whatever characters their names have.
func CallerKey(identity auth.Identity) string {
	return escapeKey.Replace(identity.Username) + keyBorder + escapeKey.Replace(identity.UID)
}

// keyBorder separates the parts of a key. In a part it is escaped by a byte that no valid text has.
const keyBorder = "\x00"

var escapeKey = strings.NewReplacer(keyBorder, keyBorder+"\xff")

// UserOf returns the user name of a CallerKey.
func UserOf(key string) string {
	name, _, _ := strings.Cut(key, keyBorder)
	return name
}

// CredentialKey returns a key that distinguishes the credentials of one user, as far as the API
// server identifies them: the pods of a service account, whichever token each of them uses, and
// tokens and certificates with an ID. All other credentials of a user share a key.
func CredentialKey(identity auth.Identity) string {
	for _, key := range []string{serviceaccount.PodUIDKey, user.CredentialIDKey} {
		if values := identity.Extra[key]; len(values) == 1 && values[0] != "" {
			return CallerKey(identity) + keyBorder + values[0]
		}
	}
	return CallerKey(identity)
}
