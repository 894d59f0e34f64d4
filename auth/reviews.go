package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	userinfo "k8s.io/apiserver/pkg/authentication/user"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/internal/startup"
)

// maxReviews bounds the cached decisions, separately for allowed and denied ones; the least
// recently used are evicted. Each takes about 500 bytes.
const maxReviews = 32768

// reviews authorizes callers by SubjectAccessReview, and caches the decisions.
type reviews struct {
	client     rest.Interface // of the authorization API
	startup    *startup.Guard
	changes    *changeNotifier
	extra      []string // the keys of credentialExtra that authorizers use
	lookups    *lookups[Decision]
	allowed    *utilcache.LRUExpireCache
	denied     *utilcache.LRUExpireCache
	allowedTTL time.Duration
	deniedTTL  time.Duration

	followedTTL time.Duration
	hasFollowed func(since time.Time) bool // whether every change of RBAC since then is known

	grace time.Duration // see AuthorizerOptions
}

func newReviews(
	client authorizationclient.AuthorizationV1Interface, changes *changeNotifier, options AuthorizerOptions,
) *reviews {
	return &reviews{
		client:     client.RESTClient(),
		startup:    startup.New(client.RESTClient()),
		changes:    changes,
		extra:      options.Extra,
		lookups:    newLookups[Decision]("SubjectAccessReview"),
		allowed:    utilcache.NewLRUExpireCache(maxReviews),
		denied:     utilcache.NewLRUExpireCache(maxReviews),
		allowedTTL: options.AllowedTTL,
		deniedTTL:  options.DeniedTTL,

		followedTTL: options.FollowedTTL,
		hasFollowed: func(time.Time) bool { return false },

		grace: options.Grace,
	}
}

// caller is an identity as authorizers see it, with values derived from it.
type caller struct {
	Identity
	key      Key // the same for all credentials with the same permissions
	subjects []subject
}

func (r *reviews) caller(identity Identity) caller {
	identity = identity.forAuthorizers(r.extra)
	return caller{identity, identity.Key(), subjectsOf(identity)}
}

// cacheKey is the key of a cached decision.
type cacheKey struct {
	caller     Key
	attributes Attributes
}

// cachedDecision is a cached decision.
type cachedDecision struct {
	decision      Decision
	requested     time.Time
	validUntil    time.Time
	followedUntil time.Time // the end of its validity while RBAC is followed; not after until if that does not apply
	graceUntil    time.Time // the end of its validity while the API server gives no decision
}

// decide returns the decision about an action of a caller. It uses the cache only for exactly the
// same question. No decision follows from a wider permission: RBAC only allows, but an authorizer
// before it can deny one namespace or one name of a wider permission.
func (r *reviews) decide(ctx context.Context, caller caller, attributes Attributes) (Decision, error) {
	changed := r.changes.lastOf(caller.subjects)
	key := cacheKey{caller.key, attributes}
	if decision, ok := r.cached(key, changed); ok {
		r.lookups.counts.cacheHits.Add(1)
		return decision, nil
	}
	review := func(ctx context.Context) (Decision, error) { return r.reviewAndCache(ctx, caller, attributes, changed) }
	decision, err := r.lookups.ask(ctx, key.flightKey(changed), caller.userKey(), review)
	if err != nil && !aboutTheQuestion(err) {
		if last, ok := r.last(key, changed); ok && last.Allowed {
			return last, nil
		}
	}
	switch {
	case errors.Is(err, errNoSlot):
		return Decision{}, throttledError(err)
	case err != nil && !aboutTheQuestion(err):
		return Decision{}, unavailable(ctx, "what "+caller.String()+" may do", err)
	}
	return decision, err
}

// decideOrLast is like decide, but also returns a denial that counts while the API server gives no
// other decision. It is for a question whose denial leads to others.
func (r *reviews) decideOrLast(ctx context.Context, caller caller, attributes Attributes) (Decision, error) {
	changed := r.changes.lastOf(caller.subjects)
	decision, err := r.decide(ctx, caller, attributes)
	if err != nil && !aboutTheQuestion(err) {
		if last, ok := r.last(cacheKey{caller.key, attributes}, changed); ok {
			return last, nil
		}
	}
	return decision, err
}

// cached returns a cached decision. Concurrent reviews can produce both decisions for a
// question; the denial then counts.
func (r *reviews) cached(key cacheKey, changed time.Time) (Decision, bool) {
	if decision, ok := r.get(r.denied, key, changed); ok {
		return decision, true
	}
	return r.get(r.allowed, key, changed)
}

func (r *reviews) get(cache *utilcache.LRUExpireCache, key cacheKey, changed time.Time) (Decision, bool) {
	value, _ := cache.Get(key)
	found, ok := value.(cachedDecision)
	return found.decision, ok && found.requested.After(changed) && r.isValid(found)
}

// last returns the last decision about a question if it counts while the API server gives no other
// one. No change of RBAC that affects the caller was seen since.
func (r *reviews) last(key cacheKey, changed time.Time) (Decision, bool) {
	var last cachedDecision
	for _, cache := range []*utilcache.LRUExpireCache{r.denied, r.allowed} {
		value, _ := cache.Get(key)
		if found, ok := value.(cachedDecision); ok && found.requested.After(last.requested) {
			last = found
		}
	}
	return last.decision, last.requested.After(changed) && time.Now().Before(last.graceUntil)
}

func (r *reviews) isValid(found cachedDecision) bool {
	now := time.Now()
	return now.Before(found.validUntil) || now.Before(found.followedUntil) && r.hasFollowed(found.requested)
}

// flightKey returns a key for shared reviews. It differs for questions before and after a change,
// so that no caller shares a review that may not have seen the change.
func (q cacheKey) flightKey(changed time.Time) string {
	a := q.attributes
	d := digest{sha256.New()}
	d.length(int(changed.UnixNano()))
	d.texts([]string{
		string(q.caller[:]), a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name, a.Path,
	})
	return string(d.Sum(nil))
}

func (r *reviews) reviewAndCache(
	ctx context.Context, caller caller, attributes Attributes, changed time.Time,
) (Decision, error) {
	requested := time.Now()
	r.lookups.counts.requested.Add(1)
	var status authorizationv1.SubjectAccessReviewStatus
	err := r.startup.Ask(ctx, func(ctx context.Context) (denied bool, err error) {
		status, err = r.review(ctx, caller.Identity, attributes)
		return !status.Allowed, err
	})
	switch {
	case errors.Is(err, startup.ErrStarting):
		return Decision{}, fmt.Errorf("%w: %w", errAuthorizerFails, err)
	case err != nil:
		return Decision{}, err
	case !status.Allowed && status.EvaluationError != "":
		return Decision{}, fmt.Errorf("%w: %s", errAuthorizerFails, status.EvaluationError)
	}
	decision := decisionOf(status)
	cache, usual := r.denied, r.deniedTTL
	if decision.Allowed {
		cache, usual = r.allowed, r.allowedTTL
	}
	decided := cachedDecision{decision: decision, requested: requested, validUntil: time.Now().Add(ttl(usual, requested, changed))}
	// With an evaluation error not all authorizers were asked, and no change of RBAC says when they can be.
	if caller.isFollowed(attributes) && status.EvaluationError == "" {
		decided.followedUntil = requested.Add(followedTTL(r.followedTTL, requested, changed))
	}
	lifetime := max(time.Until(decided.validUntil), time.Until(decided.followedUntil))
	if r.grace > 0 && requested.Sub(changed) >= propagationGrace { // before that it may be from before the change
		lifetime += r.grace
		decided.graceUntil = time.Now().Add(lifetime)
	}
	key := cacheKey{caller.key, attributes}
	if !decision.Allowed {
		r.allowed.Remove(key)
	}
	cache.Add(key, decided, lifetime)
	return decision, nil
}

// isFollowed reports whether a caller's permission follows from the roles and bindings that are
// watched: this excludes paths, and nodes, whose permissions depend on the pods that they run.
func (c caller) isFollowed(attributes Attributes) bool {
	return !c.own && attributes.Path == "" && !slices.Contains(c.Groups, userinfo.NodesGroup)
}

func (r *reviews) review(
	ctx context.Context, identity Identity, attributes Attributes,
) (authorizationv1.SubjectAccessReviewStatus, error) {
	if identity.own {
		reviewed := &authorizationv1.SelfSubjectAccessReview{}
		err := sendReview(ctx, r.client, "selfsubjectaccessreviews", &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes:    attributes.resource(),
				NonResourceAttributes: attributes.nonResource(),
			},
		}, reviewed)
		return reviewed.Status, err
	}
	reviewed := &authorizationv1.SubjectAccessReview{}
	err := sendReview(ctx, r.client, "subjectaccessreviews", &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  identity.Username,
			UID:                   identity.UID,
			Groups:                identity.Groups,
			Extra:                 extraOf(identity),
			ResourceAttributes:    attributes.resource(),
			NonResourceAttributes: attributes.nonResource(),
		},
	}, reviewed)
	return reviewed.Status, err
}

// sendReview sends a review, and decodes the response into another object. Unlike the typed clients
// it does not repeat the request when the API server says when to try again: the breaker decides when
// the API server is asked again. A timeout is an errUndecided if there was a connection. A silent
// HTTP/2 connection is pinged, and closed before the timeout of a review.
func sendReview(ctx context.Context, client rest.Interface, resource string, review, into runtime.Object) error {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	err := client.Post().Resource(resource).Body(review).MaxRetries(0).Do(ctx).Into(into)
	if connected.Load() && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errUndecided, err)
	}
	return err
}

func extraOf(identity Identity) map[string]authorizationv1.ExtraValue {
	extra := make(map[string]authorizationv1.ExtraValue, len(identity.Extra))
	for name, values := range identity.Extra {
		extra[name] = values
	}
	return extra
}

func decisionOf(status authorizationv1.SubjectAccessReviewStatus) Decision {
	return Decision{Allowed: status.Allowed && !status.Denied, Reason: status.Reason}
}

// aboutTheQuestion reports whether an error of the API server is about the caller's request, which
// was invalid, and is returned to the caller.
func aboutTheQuestion(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err))
}
