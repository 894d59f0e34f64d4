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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
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
	reviews        authenticationclient.TokenReviewInterface
	audiences      []string
	key            []byte
	lookups        *lookups[tokenResult]
	unknownTokens  *lookupQueue
	accepted       *utilcache.LRUExpireCache
	rejected       *utilcache.LRUExpireCache
	acceptedBefore *lru.Cache // the users of the tokens that were accepted in their last review

	dependencies *dependencies
}

// tokenResult is the result of a token's review.
type tokenResult struct {
	identity Identity
	rejected error // an ErrUnauthenticated; nil if the token was accepted

	reviewed      time.Time
	validUntil    time.Time // the end of the validity of an accepted token's review, in any case
	followedUntil time.Time // the end of its validity while the token's dependencies exist
	bound         boundTo
}

func newTokens(reviews authenticationclient.TokenReviewInterface, audiences []string, dependencies *dependencies) *tokens {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never returns an error
	return &tokens{
		reviews:        reviews,
		audiences:      audiences,
		key:            key,
		lookups:        newLookups[tokenResult](),
		unknownTokens:  newLookupQueue(),
		accepted:       utilcache.NewLRUExpireCache(maxAccepted),
		rejected:       utilcache.NewLRUExpireCache(maxRefused),
		acceptedBefore: lru.New(maxKnown),

		dependencies: dependencies,
	}
}

// authenticate returns the identity of a token.
func (t *tokens) authenticate(ctx context.Context, token string) (Identity, error) {
	key := t.keyOf(token)
	answer, ok := t.cached(key)
	if !ok {
		var err error
		answer, err = t.find(ctx, key, token)
		switch {
		case errors.Is(err, errNoSlot):
			return Identity{}, throttledError(err)
		case err != nil:
			return Identity{}, unavailable(ctx, "who is calling")
		}
	}
	return answer.identity, answer.rejected
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
	turn := t.unknownTokens.slotFor(peerFrom(ctx).network())
	return t.lookups.join(ctx, key, turn, func(ctx context.Context) (answer tokenResult, err error) {
		answer, err = t.lookUp(ctx, key, token)
		turn.accepted = err == nil && answer.rejected == nil
		return answer, err
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
		if answer, ok := value.(tokenResult); ok && t.isValid(answer) {
			t.lookups.counts.remembered.Add(1)
			return answer, true
		}
	}
	return tokenResult{}, false
}

func (t *tokens) isValid(answer tokenResult) bool {
	now := time.Now()
	return answer.rejected != nil || now.Before(answer.validUntil) ||
		now.Before(answer.followedUntil) && t.dependencies.allExist(answer.bound, answer.reviewed)
}

func (t *tokens) lookUp(ctx context.Context, key, token string) (tokenResult, error) {
	if answer, ok := t.cached(key); ok {
		return answer, nil // of a review that has just ended
	}
	reviewed := time.Now()
	answer, err := t.review(ctx, token)
	if err == nil {
		answer.reviewed = reviewed
		t.cacheResult(key, token, answer)
	}
	return answer, err
}

func (t *tokens) cacheResult(key, token string, answer tokenResult) {
	if answer.rejected != nil {
		t.acceptedBefore.Remove(key)
		t.rejected.Add(key, answer, refusedTTL)
		return
	}
	t.acceptedBefore.Add(key, answer.identity.UserKey())
	answer.validUntil = time.Now().Add(acceptedTTL)
	if expires := answer.identity.Expires; !expires.IsZero() && expires.Before(answer.validUntil) {
		answer.validUntil = expires
	}
	answer.bound, answer.followedUntil = t.dependencies.dependenciesOf(token, answer.identity, answer.reviewed)
	if ttl := max(time.Until(answer.validUntil), time.Until(answer.followedUntil)); ttl > 0 {
		t.accepted.Add(key, answer, ttl)
	}
}

func (t *tokens) review(ctx context.Context, token string) (tokenResult, error) {
	t.lookups.counts.asked.Add(1)
	review, err := t.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
	}, metav1.CreateOptions{})
	if err != nil {
		return tokenResult{}, errors.New(withoutToken(err.Error(), token))
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
			"for a service account by `kubectl create token NAME%s`", t.suffix(" (audience %s)"), t.suffix(" --audience %s"))
	}
	if len(t.audiences) > 0 && !slices.ContainsFunc(status.Audiences, t.wants) {
		return unauthenticated("the bearer token is for another audience than this service: get one for the audience %s",
			strings.Join(t.audiences, " or "))
	}
	return checkUser(status.User.Username, status.User.Groups)
}

func (t *tokens) wants(audience string) bool { return slices.Contains(t.audiences, audience) }

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
