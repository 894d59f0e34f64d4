package auth

import (
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	userinfo "k8s.io/apiserver/pkg/authentication/user"
)

// Identity is who is calling. It is never changed once it has been answered, and may
// be shared.
//
// A credential that it may hold is in none of its forms: no verb of fmt prints it, nor
// do slog and encoding/json.
type Identity struct {
	// Username is the name that the cluster knows the caller by; empty for the
	// kubeconfig's own user.
	Username string
	// UID tells users of one name apart, where the cluster does.
	UID string
	// Groups are those that the cluster puts the caller into.
	Groups []string
	// Extra is what else the cluster's authenticator says of the caller.
	Extra map[string][]string
	// Expires is when the caller's credential ends: a stream that runs longer must end
	// then. Zero if it is not known.
	Expires time.Time

	// own is set for the user of the service's own client configuration.
	own bool
	// token is set if the caller's own bearer token is the only way to act as the
	// caller; it answers "" if there is none. It is a function, for no printer looks
	// into one, wherever the identity may be nested.
	token func() string
}

// Key tells identities apart. It is comparable, and says nothing about the identity.
type Key [sha256.Size]byte

// Key is the same for identities of the same name, UID, extra, and set of groups, whatever else
// their credentials are and when these end.
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

// UserKey is the same for all credentials of one user: it is that of the name and the UID alone.
// The API server notes in Extra which credential was used, such as a token's ID, so that Key is
// another one when a service account's token is renewed. What belongs to a user beyond that is
// kept by UserKey. It says nothing about permissions: those depend on the groups and on the rest of
// Extra too.
func (i Identity) UserKey() Key {
	return Identity{Username: i.Username, UID: i.UID, own: i.own}.Key()
}

// credentialExtra are the keys of Extra in which the API server says with which credential, and from
// which pod and node, a user has called. They differ among the callers of one service account.
var credentialExtra = []string{
	userinfo.CredentialIDKey,
	serviceaccount.PodNameKey,
	serviceaccount.PodUIDKey,
	serviceaccount.NodeNameKey,
	serviceaccount.NodeUIDKey,
}

// IsCredentialExtra reports whether key is one of Extra in which the API server says which credential
// was used: see [AuthorizerOptions].
func IsCredentialExtra(key string) bool { return slices.Contains(credentialExtra, key) }

// judged returns the identity that authorizers see: without what says which credential was used,
// except for the keys that an authorizer looks at. All other keys stay, because they can limit what
// the user may do, such as the scopes of a token.
func (i Identity) judged(lookedAt []string) Identity {
	extra := maps.Clone(i.Extra)
	for _, key := range credentialExtra {
		if !slices.Contains(lookedAt, key) {
			delete(extra, key)
		}
	}
	return Identity{Username: i.Username, UID: i.UID, Groups: i.Groups, Extra: extra, own: i.own}
}

// IsKubeconfigUser says whether the caller is taken for the user of the service's own
// client configuration, whose name only the cluster knows.
func (i Identity) IsKubeconfigUser() bool { return i.own }

// String names the caller.
func (i Identity) String() string {
	switch {
	case i.own:
		return "the kubeconfig's user"
	case i.Username == "":
		return "nobody"
	}
	return i.Username
}

// LogValue implements [slog.LogValuer]: logs name the caller.
func (i Identity) LogValue() slog.Value { return slog.StringValue(i.String()) }
