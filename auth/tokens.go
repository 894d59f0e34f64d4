package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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

// maxToken is the maximum length of a bearer token. Tokens of service accounts have about 1 KiB;
// those of OIDC providers grow with the number of groups.
const maxToken = 64 << 10

// bearerToken returns the token in a request's Authorization header, or "" if there is no such
// header. Its errors are [ErrUnauthenticated] and contain nothing of the header except the name of
// a known scheme.
func bearerToken(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", unauthenticated("there are %d Authorization headers: send one", len(values))
	}
	scheme, token, _ := strings.Cut(strings.Trim(values[0], " \t"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", unauthenticated("%s: send \"Authorization: Bearer TOKEN\"", wrongScheme(scheme))
	}
	return checkToken(strings.TrimLeft(token, " "))
}

func wrongScheme(scheme string) string {
	for _, known := range []string{"Basic", "Digest", "Negotiate"} {
		if strings.EqualFold(scheme, known) {
			return "the cluster does not support " + known + " authentication"
		}
	}
	return "the Authorization header does not begin with Bearer"
}

func checkToken(token string) (string, error) {
	switch {
	case token == "":
		return "", unauthenticated("the Authorization header has no token: send \"Authorization: Bearer TOKEN\"")
	case len(token) > maxToken:
		return "", unauthenticated("the bearer token has %d bytes: at most %d are accepted", len(token), maxToken)
	case strings.ContainsFunc(token, notInToken):
		return "", unauthenticated("the bearer token contains a character that is not allowed, " +
			"such as a space or a comma: send only the token")
	}
	return token, nil
}

// notInToken reports whether a character is not allowed in a token. It is more tolerant than RFC
// 6750 and accepts all visible ASCII characters, because tokens from files can contain them, except
// a comma, which would join two headers.
func notInToken(r rune) bool { return r <= ' ' || r > '~' || r == ',' }

// lastSecond is the end of the year 9999. A later expiration is treated as none.
const lastSecond = 253402300799

// expiry returns the expiration of a token by its claim "exp" if it is a JWT (RFC 7519), and zero
// if it is not known. It checks no signature: an invalid token can contain any expiration.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires *float64 `json:"exp"` // seconds since 1970, possibly with a fraction
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expires == nil {
		return time.Time{}
	}
	if seconds := *claims.Expires; seconds > 0 && seconds <= lastSecond {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}
