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
	// acceptedTTL is how long an accepted token is not asked about again.
	acceptedTTL = 10 * time.Second
	// refusedTTL is the same for a refused one.
	refusedTTL = 10 * time.Second
	// maxAccepted bounds the accepted tokens that are remembered; the least used goes.
	maxAccepted = 16384
	// maxRefused is the same for refused ones. They are kept apart, so that made-up
	// tokens cannot displace good ones.
	maxRefused = 4096
	// maxKnown bounds the tokens that are known to have been good once.
	maxKnown = 16384
)

// tokens asks the cluster whose a bearer token is, by TokenReview. It keeps no token:
// answers are found by a keyed hash, the key of which only this process knows (after
// k8s.io/apiserver's token cache).
type tokens struct {
	reviews   authenticationclient.TokenReviewInterface
	audiences []string
	key       []byte
	lookups   *lookups[verdict]
	newcomers *newcomers
	accepted  *utilcache.LRUExpireCache
	refused   *utilcache.LRUExpireCache
	known     *lru.Cache // the users of those that were accepted when the cluster was asked last

	dependencies *dependencies
}

// verdict is what the cluster says of a token.
type verdict struct {
	identity Identity
	refused  error // an ErrUnauthenticated; nil if the token is accepted

	reviewed time.Time
	until    time.Time // until when an accepted token is not reviewed again, in any case
	followed time.Time // the same, while what it is bound to is there
	bound    boundTo
}

func newTokens(reviews authenticationclient.TokenReviewInterface, audiences []string, dependencies *dependencies) *tokens {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return &tokens{
		reviews:   reviews,
		audiences: audiences,
		key:       key,
		lookups:   newLookups[verdict](),
		newcomers: newNewcomers(),
		accepted:  utilcache.NewLRUExpireCache(maxAccepted),
		refused:   utilcache.NewLRUExpireCache(maxRefused),
		known:     lru.New(maxKnown),

		dependencies: dependencies,
	}
}

// authenticate answers whose a token is.
func (t *tokens) authenticate(ctx context.Context, token string) (Identity, error) {
	key := t.keyOf(token)
	answer, ok := t.remembered(key)
	if !ok {
		var err error
		answer, err = t.find(ctx, key, token)
		switch {
		case errors.Is(err, errNoTurn):
			return Identity{}, turnedAway(err)
		case err != nil:
			return Identity{}, unavailable(ctx, "who is calling")
		}
	}
	return answer.identity, answer.refused
}

// find has the cluster asked about a token, unless it says itself that it is over. Who
// is known does not wait behind those who are not.
func (t *tokens) find(ctx context.Context, key, token string) (verdict, error) {
	if ends := expiry(token); !ends.IsZero() && !time.Now().Before(ends) {
		return verdict{refused: ErrExpired}, nil
	}
	if user, known := t.known.Get(key); known {
		return t.lookups.ask(ctx, key, user.(Key), func(ctx context.Context) (verdict, error) {
			return t.lookUp(ctx, key, token)
		})
	}
	turn := t.newcomers.from(peerFrom(ctx).network())
	return t.lookups.join(ctx, key, turn, func(ctx context.Context) (answer verdict, err error) {
		answer, err = t.lookUp(ctx, key, token)
		turn.accepted = err == nil && answer.refused == nil
		return answer, err
	})
}

func (t *tokens) keyOf(token string) string {
	hash := hmac.New(sha256.New, t.key)
	hash.Write([]byte(token))
	return string(hash.Sum(nil))
}

func (t *tokens) remembered(key string) (verdict, bool) {
	for _, cache := range []*utilcache.LRUExpireCache{t.accepted, t.refused} {
		value, _ := cache.Get(key)
		if answer, ok := value.(verdict); ok && t.isGood(answer) {
			t.lookups.counts.remembered.Add(1)
			return answer, true
		}
	}
	return verdict{}, false
}

func (t *tokens) isGood(answer verdict) bool {
	now := time.Now()
	return answer.refused != nil || now.Before(answer.until) ||
		now.Before(answer.followed) && t.dependencies.hold(answer.bound, answer.reviewed)
}

func (t *tokens) lookUp(ctx context.Context, key, token string) (verdict, error) {
	if answer, ok := t.remembered(key); ok {
		return answer, nil // from a look-up that has just ended
	}
	reviewed := time.Now()
	answer, err := t.review(ctx, token)
	if err == nil {
		answer.reviewed = reviewed
		t.remember(key, token, answer)
	}
	return answer, err
}

func (t *tokens) remember(key, token string, answer verdict) {
	if answer.refused != nil {
		t.known.Remove(key)
		t.refused.Add(key, answer, refusedTTL)
		return
	}
	t.known.Add(key, answer.identity.UserKey())
	answer.until = time.Now().Add(acceptedTTL)
	if expires := answer.identity.Expires; !expires.IsZero() && expires.Before(answer.until) {
		answer.until = expires
	}
	answer.bound, answer.followed = t.dependencies.of(token, answer.identity, answer.reviewed)
	if ttl := max(time.Until(answer.until), time.Until(answer.followed)); ttl > 0 {
		t.accepted.Add(key, answer, ttl)
	}
}

func (t *tokens) review(ctx context.Context, token string) (verdict, error) {
	t.lookups.counts.asked.Add(1)
	review, err := t.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
	}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, errors.New(withoutToken(err.Error(), token))
	}
	if text := review.Status.Error; text != "" {
		slog.DebugContext(ctx, "a bearer token was refused", "error", withoutToken(text, token))
	}
	if err := t.check(review.Status); err != nil {
		return verdict{refused: err}, nil
	}
	return verdict{identity: identityOf(review.Status.User, expiry(token))}, nil
}

// withoutToken keeps a token out of a text that was written by somebody else.
func withoutToken(text, token string) string { return strings.ReplaceAll(text, token, "TOKEN") }

// check refuses what is not a user, and what is not meant for the audiences. An
// authenticator that knows nothing of audiences answers none; then the token may be
// meant for anybody.
func (t *tokens) check(status authenticationv1.TokenReviewStatus) error {
	if !status.Authenticated {
		return unauthenticated("the cluster does not accept the bearer token: it has expired or was revoked, "+
			"belongs to another cluster, or is not meant for this service%s; get a new one, "+
			"for a service account by `kubectl create token NAME%s`", t.suffix(" (audience %s)"), t.suffix(" --audience %s"))
	}
	if len(t.audiences) > 0 && !slices.ContainsFunc(status.Audiences, t.wants) {
		return unauthenticated("the bearer token is not meant for this service: get one for the audience %s",
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
