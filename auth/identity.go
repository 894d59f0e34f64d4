package auth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	userinfo "k8s.io/apiserver/pkg/authentication/user"
)

// Identity is the identity of a caller. It is immutable, and can be shared.
//
// Credentials are in none of its printed forms: neither fmt, slog nor encoding/json prints them.
type Identity struct {
	// Username is the caller's name in the cluster; empty for the kubeconfig's own user.
	Username string
	// UID distinguishes users of the same name, if the cluster provides it.
	UID string
	// Groups are the caller's groups in the cluster.
	Groups []string
	// Extra is additional information from the cluster's authenticator.
	Extra map[string][]string
	// Expires is when the caller's credential expires: a stream must end then. Zero if it is not
	// known.
	Expires time.Time

	// own is set for the user of the service's own client configuration.
	own bool
	// token is set if the caller's own bearer token is the only way to act as the caller; it
	// returns "" if there is none. It is a function because printers do not call functions, even if
	// the identity is nested.
	token func() string
}

// Key identifies an identity. It is comparable, and does not reveal the identity.
type Key [sha256.Size]byte

// Key returns the same value for identities with the same name, UID, extra, and set of groups,
// independent of their credentials and expiration.
func (i Identity) Key() Key {
	d := digest{sha256.New()}
	d.text(i.Username)
	d.text(i.UID)
	d.texts(slices.Compact(slices.Sorted(slices.Values(i.Groups))))
	d.length(len(i.Extra))
	for _, name := range slices.Sorted(maps.Keys(i.Extra)) {
		d.text(name)
		d.texts(i.Extra[name])
	}
	if i.own {
		d.text("own")
	}
	return Key(d.Sum(nil))
}

// userKey returns the same value for all credentials of one user: it depends on the name and the
// UID alone. The API server stores the credential in Extra, such as a token's ID, so Key changes
// when a service account's token is renewed. State of a user that must survive this is stored by
// userKey. userKey does not identify permissions, which also depend on the groups and on the rest
// of Extra.
func (i Identity) userKey() Key {
	return Identity{Username: i.Username, UID: i.UID, own: i.own}.Key()
}

// credentialExtra are the keys of Extra in which the API server names the credential, the pod and
// the node of a call. They differ among the callers of one service account.
var credentialExtra = []string{
	userinfo.CredentialIDKey,
	serviceaccount.PodNameKey,
	serviceaccount.PodUIDKey,
	serviceaccount.NodeNameKey,
	serviceaccount.NodeUIDKey,
}

// IsCredentialExtra reports whether key is a key of Extra in which the API server names the
// credential: see [AuthorizerOptions].
func IsCredentialExtra(key string) bool { return slices.Contains(credentialExtra, key) }

// forAuthorizers returns the identity for authorizers: without the keys of Extra that name the credential,
// except those that an authorizer uses. All other keys are kept, because they can limit the user's
// permissions, such as the scopes of a token.
func (i Identity) forAuthorizers(used []string) Identity {
	extra := maps.Clone(i.Extra)
	for _, key := range credentialExtra {
		if !slices.Contains(used, key) {
			delete(extra, key)
		}
	}
	return Identity{Username: i.Username, UID: i.UID, Groups: i.Groups, Extra: extra, own: i.own}
}

// constrained returns the identity for constrained impersonation: that of a service account is its name.
// used are the keys of Extra that an authorizer uses.
func (i Identity) constrained(used []string) (Identity, error) {
	namespace, _, err := serviceaccount.SplitUsername(i.Username)
	if err != nil { // not a service account
		return i, nil
	}
	known := slices.Sorted(slices.Values(append(serviceaccount.MakeGroupNames(namespace), userinfo.AllAuthenticated)))
	if !slices.Equal(slices.Compact(slices.Sorted(slices.Values(i.Groups))), known) {
		return i, notConstrained("groups other than %q", known)
	}
	for key := range i.Extra {
		if !IsCredentialExtra(key) || slices.Contains(used, key) {
			return i, notConstrained("the extra %q", key)
		}
	}
	return Identity{Username: i.Username}, nil
}

func notConstrained(format string, args ...any) error {
	return forbidden("the service account of the request has " + fmt.Sprintf(format, args...) + ", which the service cannot pass on " +
		"with constrained impersonation: read from the cache, or use another identity")
}

// IsKubeconfigUser reports whether the caller is the user of the service's own client
// configuration, whose name only the cluster knows.
func (i Identity) IsKubeconfigUser() bool { return i.own }

// String returns the caller's name.
func (i Identity) String() string {
	switch {
	case i.own:
		return "the kubeconfig's user"
	case i.Username == "":
		return "nobody"
	}
	return i.Username
}

// LogValue implements [slog.LogValuer] with the caller's name.
func (i Identity) LogValue() slog.Value { return slog.StringValue(i.String()) }

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

// digest hashes lists of strings without ambiguity: the length of each string and each list
// precedes it.
type digest struct{ hash.Hash }

func (d digest) text(text string) {
	d.length(len(text))
	_, _ = io.WriteString(d, text) // a hash never fails
}

func (d digest) texts(texts []string) {
	d.length(len(texts))
	for _, text := range texts {
		d.text(text)
	}
}

func (d digest) length(length int) {
	var buffer [8]byte
	binary.BigEndian.PutUint64(buffer[:], uint64(length))
	_, _ = d.Write(buffer[:])
}
