package auth

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
)

const (
	// keysInterval is how often the issuer's keys are read, and keysRetry how often at most, after an
	// error or for a token with an unknown key.
	keysInterval = 5 * time.Minute
	keysRetry    = 30 * time.Second
	// keysMaxAge is how long keys are used that cannot be read again.
	keysMaxAge = 2 * keysInterval
	// keysTimeout is how long the API server may take to answer.
	keysTimeout = 10 * time.Second
	// maxKeysBytes bounds what is read of the API server's answer.
	maxKeysBytes = 1 << 20
)

// issuerAlgorithms are those that the API server signs service account tokens with. No key of theirs
// is a shared secret.
var issuerAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// issuer knows the keys of the cluster's issuer of service account tokens, which the API server
// itself publishes: no address that a token or a document names is ever called. The keys let nobody
// in, for each token is reviewed by the API server at first. They show that the claims of an accepted
// token are the issuer's own, so that it is known what the token depends on. Its methods are safe for
// concurrent use.
type issuer struct {
	api     rest.Interface
	unknown chan struct{} // holds one when a token has a key that is not known

	mu   sync.Mutex // guards the fields below
	name string
	keys map[string]issuerKey // by ID
	read time.Time
	told string // the last error in the log
}

// issuerKey is a public key. It never changes.
type issuerKey struct {
	jose.JSONWebKey
	thumbprint string
}

// keyID tells keys apart, also such as have the same ID at different times.
type keyID struct{ id, thumbprint string }

// boundTo is what an issuer's token depends on: it is not valid when one of them is gone.
type boundTo struct {
	key     keyID
	account string // the UID of a service account
	pod     string // the UID of a pod; empty for none
	expires time.Time
}

// errNotFollowed is about tokens that depend on something else than boundTo.
var errNotFollowed = errors.New("the token depends on an object that is not followed")

func newIssuer(api rest.Interface) *issuer {
	return &issuer{api: api, unknown: make(chan struct{}, 1)}
}

// run reads the keys until the context ends.
func (i *issuer) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, unknown := keysInterval, i.unknown
		if !i.refresh(ctx) {
			wait, unknown = keysRetry, nil
		}
		i.pause(ctx, keysRetry, nil)
		i.pause(ctx, wait-keysRetry, unknown)
	}
}

// pause waits for a time, but no longer than until something is needed or the context ends.
func (i *issuer) pause(ctx context.Context, patience time.Duration, needed <-chan struct{}) {
	select {
	case <-time.After(patience):
	case <-needed:
	case <-ctx.Done():
	}
}

// refresh reports whether it has read the keys.
func (i *issuer) refresh(ctx context.Context) bool {
	asked := time.Now()
	name, keys, err := i.fetch(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.name, i.keys, i.read, i.told = name, keys, asked, ""
		return true
	}
	if ctx.Err() == nil && i.told != err.Error() {
		i.told = err.Error()
		slog.Info("the keys of service account tokens cannot be read: each token is reviewed every few seconds", "error", err)
	}
	return false
}

func (i *issuer) fetch(ctx context.Context) (name string, keys map[string]issuerKey, err error) {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	var metadata struct {
		Issuer string `json:"issuer"`
	}
	if err := i.get(ctx, "/.well-known/openid-configuration", &metadata); err != nil {
		return "", nil, err
	}
	var set jose.JSONWebKeySet
	if err := i.get(ctx, "/openid/v1/jwks", &set); err != nil {
		return "", nil, err
	}
	keys, err = usableKeys(set)
	if err == nil && metadata.Issuer == "" {
		err = errors.New("the issuer has no name")
	}
	return metadata.Issuer, keys, err
}

func (i *issuer) get(ctx context.Context, path string, into any) error {
	answer, err := i.api.Get().AbsPath(path).SetHeader("Accept", "application/jwk-set+json, application/json").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(answer) > maxKeysBytes {
		return fmt.Errorf("%s: %d bytes are more than is read", path, len(answer))
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// usableKeys returns the public keys of a set that have an ID of their own.
func usableKeys(set jose.JSONWebKeySet) (map[string]issuerKey, error) {
	keys := make(map[string]issuerKey, len(set.Keys))
	for _, key := range set.Keys {
		if key.KeyID == "" || !key.IsPublic() || !key.Valid() || key.Use != "" && key.Use != "sig" {
			continue
		}
		if _, taken := keys[key.KeyID]; taken {
			return nil, fmt.Errorf("two keys have the ID %q", key.KeyID)
		}
		thumbprint, err := key.Thumbprint(crypto.SHA256)
		if err != nil {
			return nil, err
		}
		keys[key.KeyID] = issuerKey{key, string(thumbprint)}
	}
	return keys, nil
}

// key returns the issuer's name, and the key with an ID. It returns false for an unknown key, and
// when the keys have not been read for too long.
func (i *issuer) key(id string) (name string, key issuerKey, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.read.IsZero() || time.Since(i.read) >= keysMaxAge {
		return "", issuerKey{}, false
	}
	key, ok = i.keys[id]
	return i.name, key, ok
}

// has reports whether the issuer still uses a key.
func (i *issuer) has(id keyID) bool {
	_, key, ok := i.key(id.id)
	return ok && key.thumbprint == id.thumbprint
}

// need has the keys read again, before long.
func (i *issuer) need() {
	select {
	case i.unknown <- struct{}{}:
	default:
	}
}

// claims are those of a service account token that say what it depends on.
type claims struct {
	josejwt.Claims
	Kubernetes struct {
		Namespace      string     `json:"namespace"`
		ServiceAccount reference  `json:"serviceaccount"`
		Pod            *reference `json:"pod"`
		Secret         *reference `json:"secret"`
		Node           *reference `json:"node"` // of a pod: for information only
	} `json:"kubernetes.io"`
}

type reference struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// verify returns what a token of the issuer depends on, which the API server has accepted for identity.
func (i *issuer) verify(token string, identity Identity) (boundTo, error) {
	parsed, err := josejwt.ParseSigned(token, issuerAlgorithms)
	if err != nil {
		return boundTo{}, err
	}
	header := parsed.Headers[0]
	name, key, ok := i.key(header.KeyID)
	if !ok {
		i.need()
	}
	if !ok || key.Algorithm != "" && key.Algorithm != header.Algorithm {
		return boundTo{}, fmt.Errorf("the issuer has no key %q for %s", header.KeyID, header.Algorithm)
	}
	var said claims
	if err := parsed.Claims(key.Key, &said); err != nil {
		return boundTo{}, err
	}
	bound, err := said.boundTo(identity)
	bound.key = keyID{header.KeyID, key.thumbprint}
	if said.Issuer != name {
		return boundTo{}, fmt.Errorf("the token is one of the issuer %q", said.Issuer)
	}
	return bound, err
}

// boundTo returns what the token depends on, if that is a service account and perhaps a pod. Tokens
// without an end, and those bound to a Secret or to a node alone, are errNotFollowed.
func (c claims) boundTo(identity Identity) (boundTo, error) {
	said := c.Kubernetes
	account := serviceaccount.MakeUsername(said.Namespace, said.ServiceAccount.Name)
	switch {
	case c.Subject != account || identity.Username != account || said.ServiceAccount.UID == "" || identity.UID != said.ServiceAccount.UID:
		return boundTo{}, errors.New("the token names another service account than the API server does")
	case c.Expiry == nil, said.Secret != nil, said.Node != nil && said.Pod == nil, said.Pod != nil && said.Pod.UID == "":
		return boundTo{}, errNotFollowed
	}
	bound := boundTo{account: said.ServiceAccount.UID, expires: c.Expiry.Time()}
	if said.Pod != nil {
		bound.pod = said.Pod.UID
	}
	return bound, nil
}
