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
	// keysInterval is how often the issuer's keys are read. keysRetry is the minimum delay after an
	// error, or before a read for a token with an unknown key.
	keysInterval = 5 * time.Minute
	keysRetry    = 30 * time.Second
	// keysMaxAge is how long keys are used if they cannot be read again.
	keysMaxAge = 2 * keysInterval
	// keysTimeout bounds the duration of a read.
	keysTimeout = 10 * time.Second
	// maxKeysBytes bounds the size of the API server's response.
	maxKeysBytes = 1 << 20
)

// issuerAlgorithms are the algorithms that the API server signs service account tokens with. None
// of them uses a shared secret.
var issuerAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// issuer has the keys of the cluster's issuer of service account tokens. It reads them only from
// the API server, never from an address that a token or a document names. The keys admit no caller,
// because each token is first reviewed by the API server. They prove that the claims of an accepted
// token are the issuer's own, and so what the token depends on. Its methods are safe for concurrent
// use.
type issuer struct {
	api        rest.Interface
	unknownKey chan struct{} // has an element when a token has an unknown key

	mu         sync.Mutex // guards the fields below
	name       string
	keys       map[string]issuerKey // by ID
	read       time.Time
	lastLogged string // the last logged error
}

// issuerKey is a public key. It is immutable.
type issuerKey struct {
	jose.JSONWebKey
	thumbprint string
}

// keyID identifies a key, also if several keys have had the same ID at different times.
type keyID struct{ id, thumbprint string }

// boundTo contains the dependencies of an issuer's token: the token is invalid when one of them is
// deleted.
type boundTo struct {
	key     keyID
	account string // the UID of a service account
	pod     string // the UID of a pod; empty for none
	expires time.Time
}

// errNotFollowed reports that a token has a dependency that is not in boundTo.
var errNotFollowed = errors.New("the token depends on an object that is not followed")

func newIssuer(api rest.Interface) *issuer {
	return &issuer{api: api, unknownKey: make(chan struct{}, 1)}
}

// run reads the keys until the context is done.
func (i *issuer) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, unknownKey := keysInterval, i.unknownKey
		if !i.refresh(ctx) {
			wait, unknownKey = keysRetry, nil
		}
		i.pause(ctx, keysRetry, nil)
		i.pause(ctx, wait-keysRetry, unknownKey)
	}
}

// pause waits for a time, until needed is ready, or until the context is done.
func (i *issuer) pause(ctx context.Context, timeout time.Duration, needed <-chan struct{}) {
	select {
	case <-time.After(timeout):
	case <-needed:
	case <-ctx.Done():
	}
}

// refresh reads the keys, and reports whether it succeeded.
func (i *issuer) refresh(ctx context.Context) bool {
	started := time.Now()
	name, keys, err := i.fetch(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.name, i.keys, i.read, i.lastLogged = name, keys, started, ""
		return true
	}
	if ctx.Err() == nil && i.lastLogged != err.Error() {
		i.lastLogged = err.Error()
		slog.Info("cannot read the keys of service account tokens: each token is reviewed every few seconds",
			"error", err)
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

func (i *issuer) get(ctx context.Context, path string, target any) error {
	body, err := i.api.Get().AbsPath(path).SetHeader("Accept", "application/jwk-set+json, application/json").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(body) > maxKeysBytes {
		return fmt.Errorf("%s: response of %d bytes is too long", path, len(body))
	}
	if err := json.Unmarshal(body, target); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// usableKeys returns the public keys of a set that have a unique ID.
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

// key returns the issuer's name and the key with an ID. ok is false if the key is unknown or the
// keys have not been read for too long.
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

// requestRefresh requests that the keys are read again soon.
func (i *issuer) requestRefresh() {
	select {
	case i.unknownKey <- struct{}{}:
	default:
	}
}

// claims are the claims of a service account token that name its dependencies.
type claims struct {
	josejwt.Claims
	Kubernetes struct {
		Namespace      string     `json:"namespace"`
		ServiceAccount reference  `json:"serviceaccount"`
		Pod            *reference `json:"pod"`
		Secret         *reference `json:"secret"`
		Node           *reference `json:"node"` // of the pod: for information only
	} `json:"kubernetes.io"`
}

type reference struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// verify returns the dependencies of an issuer's token that the API server has accepted for
// identity.
func (i *issuer) verify(token string, identity Identity) (boundTo, error) {
	parsed, err := josejwt.ParseSigned(token, issuerAlgorithms)
	if err != nil {
		return boundTo{}, err
	}
	header := parsed.Headers[0]
	name, key, ok := i.key(header.KeyID)
	if !ok {
		i.requestRefresh()
	}
	if !ok || key.Algorithm != "" && key.Algorithm != header.Algorithm {
		return boundTo{}, fmt.Errorf("the issuer has no key %q for %s", header.KeyID, header.Algorithm)
	}
	var parsedClaims claims
	if err := parsed.Claims(key.Key, &parsedClaims); err != nil {
		return boundTo{}, err
	}
	bound, err := parsedClaims.boundTo(identity)
	bound.key = keyID{header.KeyID, key.thumbprint}
	if parsedClaims.Issuer != name {
		return boundTo{}, fmt.Errorf("token has another issuer: %q", parsedClaims.Issuer)
	}
	return bound, err
}

// boundTo returns the token's dependencies, if they are a service account and at most a pod. It
// returns errNotFollowed for tokens without an expiration, and for those bound to a Secret or only
// to a node.
func (c claims) boundTo(identity Identity) (boundTo, error) {
	kubernetes := c.Kubernetes
	account := serviceaccount.MakeUsername(kubernetes.Namespace, kubernetes.ServiceAccount.Name)
	switch {
	case c.Subject != account || identity.Username != account ||
		kubernetes.ServiceAccount.UID == "" || identity.UID != kubernetes.ServiceAccount.UID:
		return boundTo{}, errors.New("token names another service account than the API server")
	case c.Expiry == nil, kubernetes.Secret != nil,
		kubernetes.Node != nil && kubernetes.Pod == nil, kubernetes.Pod != nil && kubernetes.Pod.UID == "":
		return boundTo{}, errNotFollowed
	}
	bound := boundTo{account: kubernetes.ServiceAccount.UID, expires: c.Expiry.Time()}
	if kubernetes.Pod != nil {
		bound.pod = kubernetes.Pod.UID
	}
	return bound, nil
}
