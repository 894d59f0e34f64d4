package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
)

const (
	// acceptedTTL is how long an accepted token is cached.
	acceptedTTL = 10 * time.Second
	// refusedTTL is how long a rejected token is cached.
	refusedTTL = 10 * time.Second
	// maxAccepted bounds the cached accepted tokens; the least recently used are evicted.
	maxAccepted = 16384
	// maxRefused bounds the cached rejected tokens. They are cached separately, so that invalid
	// tokens cannot evict valid ones.
	maxRefused = 4096
	// maxKnown bounds the tokens that are recorded as accepted in their last review.
	maxKnown = 16384
)

// tokens authenticates bearer tokens by TokenReview. It stores no token: results are cached by a
// keyed hash, whose key only this process knows (after k8s.io/apiserver's token cache).
type tokens struct {
	reviews        rest.Interface // of the authentication API
	audiences      []string
	key            []byte
	lookups        *lookups[tokenResult]
	unknownTokens  *lookupQueue
	accepted       *utilcache.LRUExpireCache
	rejected       *utilcache.LRUExpireCache
	acceptedBefore *lru.Cache // the users of the tokens that were accepted in their last review

	dependencies *dependencies
	grace        time.Duration // see ClusterAuthenticatorOptions
}

// tokenResult is the result of a token's review.
type tokenResult struct {
	identity Identity
	rejected error // an ErrUnauthenticated; nil if the token was accepted

	reviewed      time.Time
	validUntil    time.Time // the end of the validity of an accepted token's review, in any case
	followedUntil time.Time // the end of its validity while the token's dependencies exist
	graceUntil    time.Time // the end of its validity while the API server does not review it
	bound         boundTo
}

func newTokens(
	client authenticationclient.AuthenticationV1Interface, audiences []string, dependencies *dependencies,
	grace time.Duration,
) *tokens {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never returns an error
	return &tokens{
		reviews:        client.RESTClient(),
		audiences:      audiences,
		key:            key,
		lookups:        newLookups[tokenResult]("TokenReview"),
		unknownTokens:  newLookupQueue(),
		accepted:       utilcache.NewLRUExpireCache(maxAccepted),
		rejected:       utilcache.NewLRUExpireCache(maxRefused),
		acceptedBefore: lru.New(maxKnown),

		dependencies: dependencies,
		grace:        grace,
	}
}

// authenticate returns the identity of a token.
func (t *tokens) authenticate(ctx context.Context, token string) (Identity, error) {
	key := t.keyOf(token)
	result, ok := t.cached(key)
	if !ok {
		var err error
		result, err = t.find(ctx, key, token)
		if last, ok := t.last(key); ok && err != nil {
			return last.identity, nil
		}
		switch {
		case errors.Is(err, errNoSlot):
			return Identity{}, throttledError(err)
		case err != nil:
			return Identity{}, unavailable(ctx, "who is calling", err)
		}
	}
	return result.identity, result.rejected
}

// find reviews a token, unless it is expired according to its own claims. Known callers do not wait
// behind unknown ones.
func (t *tokens) find(ctx context.Context, key, token string) (tokenResult, error) {
	if ends := expiry(token); !ends.IsZero() && !time.Now().Before(ends) {
		return tokenResult{rejected: ErrExpired}, nil
	}
	if user, known := t.acceptedBefore.Get(key); known {
		return t.lookups.ask(ctx, key, user.(Key), func(ctx context.Context) (tokenResult, error) {
			return t.lookUp(ctx, key, token)
		})
	}
	slot := t.unknownTokens.slotFor(peerFrom(ctx).network())
	return t.lookups.join(ctx, key, slot, func(ctx context.Context) (result tokenResult, err error) {
		result, err = t.lookUp(ctx, key, token)
		slot.accepted = err == nil && result.rejected == nil
		return result, err
	})
}

func (t *tokens) keyOf(token string) string {
	hash := hmac.New(sha256.New, t.key)
	hash.Write([]byte(token))
	return string(hash.Sum(nil))
}

func (t *tokens) cached(key string) (tokenResult, bool) {
	for _, cache := range []*utilcache.LRUExpireCache{t.accepted, t.rejected} {
		value, _ := cache.Get(key)
		if result, ok := value.(tokenResult); ok && t.isValid(result) {
			t.lookups.counts.cacheHits.Add(1)
			return result, true
		}
	}
	return tokenResult{}, false
}

// last returns the last review of an accepted token if it counts while the API server does not review
// the token. Nothing that the token depends on was seen to be deleted.
func (t *tokens) last(key string) (tokenResult, bool) {
	value, _ := t.accepted.Get(key)
	result, ok := value.(tokenResult)
	return result, ok && time.Now().Before(result.graceUntil) && !t.dependencies.isGone(result.bound)
}

func (t *tokens) isValid(result tokenResult) bool {
	now := time.Now()
	return result.rejected != nil || now.Before(result.validUntil) ||
		now.Before(result.followedUntil) && t.dependencies.allExist(result.bound, result.reviewed)
}

func (t *tokens) lookUp(ctx context.Context, key, token string) (tokenResult, error) {
	if result, ok := t.cached(key); ok {
		return result, nil // of a review that has just ended
	}
	reviewed := time.Now()
	result, err := t.review(ctx, token)
	if err == nil {
		result.reviewed = reviewed
		t.cacheResult(key, token, result)
	}
	return result, err
}

func (t *tokens) cacheResult(key, token string, result tokenResult) {
	if result.rejected != nil {
		t.acceptedBefore.Remove(key)
		t.accepted.Remove(key)
		t.rejected.Add(key, result, refusedTTL)
		return
	}
	t.acceptedBefore.Add(key, result.identity.userKey())
	result.validUntil = time.Now().Add(acceptedTTL)
	if expires := result.identity.Expires; !expires.IsZero() && expires.Before(result.validUntil) {
		result.validUntil = expires
	}
	result.bound, result.followedUntil = t.dependencies.dependenciesOf(token, result.identity, result.reviewed)
	until := later(result.validUntil, result.followedUntil)
	if t.grace > 0 {
		until = until.Add(t.grace)
		if expires := result.identity.Expires; !expires.IsZero() && expires.Before(until) {
			until = expires
		}
		result.graceUntil = until
	}
	if ttl := time.Until(until); ttl > 0 {
		t.accepted.Add(key, result, ttl)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (t *tokens) review(ctx context.Context, token string) (tokenResult, error) {
	t.lookups.counts.requested.Add(1)
	review := &authenticationv1.TokenReview{}
	if err := sendReview(ctx, t.reviews, "tokenreviews", &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
	}, review); err != nil {
		return tokenResult{}, &tokenReviewError{withoutToken(err.Error(), token), err}
	}
	if text := review.Status.Error; text != "" {
		slog.DebugContext(ctx, "the API server rejected a bearer token", "error", withoutToken(text, token))
	}
	if err := t.check(review.Status); err != nil {
		return tokenResult{rejected: err}, nil
	}
	return tokenResult{identity: identityOf(review.Status.User, expiry(token))}, nil
}

// withoutToken removes a token from a message of the API server.
func withoutToken(text, token string) string { return strings.ReplaceAll(text, token, "TOKEN") }

// check returns an error if the token was rejected, or is not valid for the audiences. An
// authenticator without support for audiences returns none; the token may then be for any audience.
func (t *tokens) check(status authenticationv1.TokenReviewStatus) error {
	if !status.Authenticated {
		return unauthenticated("the cluster does not accept the bearer token: it has expired or was revoked, "+
			"belongs to another cluster, or is for another audience than this service%s; get a new one, "+
			"for a service account by `kubectl create token NAME%s`",
			t.suffix(" (audience %s)"), t.suffix(" --audience %s"))
	}
	if len(t.audiences) > 0 && !slices.ContainsFunc(status.Audiences, t.acceptsAudience) {
		return unauthenticated("the bearer token is for another audience than this service: "+
			"get one for the audience %s", strings.Join(t.audiences, " or "))
	}
	return checkUser(status.User.Username, status.User.Groups)
}

func (t *tokens) acceptsAudience(audience string) bool { return slices.Contains(t.audiences, audience) }

func (t *tokens) suffix(format string) string {
	if len(t.audiences) == 0 {
		return ""
	}
	return fmt.Sprintf(format, t.audiences[0])
}

func identityOf(user authenticationv1.UserInfo, expires time.Time) Identity {
	identity := Identity{Username: user.Username, UID: user.UID, Groups: user.Groups, Expires: expires}
	if len(user.Extra) > 0 {
		identity.Extra = make(map[string][]string, len(user.Extra))
	}
	for name, values := range user.Extra {
		identity.Extra[name] = values
	}
	return identity
}
