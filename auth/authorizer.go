package auth

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
)

// AuthorizerOptions are the settings of an [Authorizer]. The zero value is usable.
type AuthorizerOptions struct {
	// Extra lists the keys of [Identity].Extra that an authorizer of the cluster uses, among those
	// in which the API server names the credential: its ID, and the pod and the node of a service
	// account's token. Default: none; callers that differ in no other attribute share decisions,
	// and reviews do not contain these keys. All other keys are always part of reviews.
	Extra []string
	// AllowedTTL is how long an allowed permission is cached, unless a change is seen. Default: 10
	// s.
	AllowedTTL time.Duration
	// DeniedTTL is how long a denied permission is cached. Default: 10 s.
	DeniedTTL time.Duration
	// FollowedTTL is how long both are cached while the authorizer follows RBAC and sees no change
	// that affects the caller. Set minutes only if Node and RBAC are the only authorizers of the
	// cluster: another authorizer can change its decisions independently of RBAC. Default: none;
	// AllowedTTL and DeniedTTL apply.
	FollowedTTL time.Duration
	// Grace is how much longer than it is cached a decision counts while the API server gives no other
	// one: it fails, or it is slow. A change of RBAC that is seen ends it. Default: none.
	Grace time.Duration
}

const (
	defaultAllowedTTL = 10 * time.Second
	defaultDeniedTTL  = 10 * time.Second
)

// Decision is the cluster's decision about an action of a caller.
type Decision struct {
	// Allowed is true only if the cluster allows the action.
	Allowed bool
	// Reason is the cluster's explanation. It can be empty.
	Reason string
}

// Authorizer authorizes callers by SubjectAccessReview. Its methods are safe for concurrent use.
type Authorizer struct {
	reviews *reviews
	changes *changeNotifier
	rbac    *rbac
	mirrors mirrors

	namespacesNeeded chan struct{} // closed by needNamespaces
	needNamespaces   func()
}

// NewAuthorizer returns an authorizer that uses client. The client needs the permission to create
// subjectaccessreviews, and those documented at [Authorizer.Namespaces].
func NewAuthorizer(client kubernetes.Interface, options AuthorizerOptions) *Authorizer {
	if options.AllowedTTL == 0 {
		options.AllowedTTL = defaultAllowedTTL
	}
	if options.DeniedTTL == 0 {
		options.DeniedTTL = defaultDeniedTTL
	}
	changes := newChangeNotifier()
	rbac := newRBAC(changes.note)
	a := &Authorizer{
		reviews: newReviews(client.AuthorizationV1(), changes, options),
		changes: changes,
		rbac:    rbac,
		mirrors: newMirrors(client, rbac),

		namespacesNeeded: make(chan struct{}),
	}
	a.reviews.hasFollowed = a.mirrors.hasFollowedRBAC
	a.needNamespaces = sync.OnceFunc(func() { close(a.namespacesNeeded) })
	a.mirrors.namespaces.countChanged = a.countedNamespaces
	return a
}

// Run follows the cluster's RBAC. It returns when the context is done and all goroutines of the
// authorizer have ended; later calls fail. Before Run, changes are not announced, and
// [Authorizer.Namespaces] blocks. Call it once.
func (a *Authorizer) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { a.changes.run(ctx) })
	for _, mirror := range a.mirrors.rbac {
		running.Go(func() { mirror.run(ctx) })
	}
	running.Go(func() { a.runNamespaces(ctx) })
	<-ctx.Done()
	a.reviews.lookups.end()
	running.Wait()
}

// Authorize returns the decision about an action of a caller. After an error the decision is
// unknown, and the action must be rejected.
func (a *Authorizer) Authorize(ctx context.Context, identity Identity, attributes Attributes) (Decision, error) {
	return a.reviews.decide(ctx, a.reviews.caller(identity), attributes)
}

// Changed returns a channel that is closed when permissions may have changed. Get the channel,
// authorize, then wait for the channel and authorize again. It is closed soon after a change is
// seen, and again one and five seconds after it, because the API server can see the change later;
// but at most twice a second. Requests of callers that are not affected are then served from the
// cache.
//
// Some changes are detected only by authorizing again at an interval: changes of authorizers other
// than RBAC, of groups, and of RBAC if the service is not allowed to watch it.
func (a *Authorizer) Changed() <-chan struct{} { return a.changes.next() }
