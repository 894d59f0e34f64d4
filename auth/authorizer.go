package auth

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Candidates says how the namespaces are found that a caller may have rights in, if not
// in all of them. The cluster is asked about each.
type Candidates int

const (
	// CandidatesFromRBAC finds them by the role bindings that name the caller or one of
	// its groups. It takes the right to list and watch roles, rolebindings, clusterroles
	// and clusterrolebindings; without, it is AllNamespaces. A right that another
	// authorizer than RBAC gives to one namespace is not found.
	CandidatesFromRBAC Candidates = iota
	// AllNamespaces takes every namespace: for clusters whose authorizers are not RBAC
	// alone. It takes the right to list and watch namespaces, and as many reviews as
	// there are of them for each caller, verb and resource.
	AllNamespaces
)

// AuthorizerOptions are the settings of an [Authorizer]. The zero value is a good one.
type AuthorizerOptions struct {
	Candidates Candidates
	// Extra names the keys of [Identity].Extra that an authorizer of the cluster looks at, of those
	// in which the API server says which credential was used: its ID, and the pod and the node of a
	// service account's token. Default: none. Callers who differ in nothing else share answers then,
	// and the cluster is not told of these keys. Other keys always count.
	Extra []string
	// AllowedTTL is how long a right that the cluster has confirmed is taken for granted,
	// unless a change is seen. Default: 10 s.
	AllowedTTL time.Duration
	// DeniedTTL is the same for one that it has denied. Default: 10 s.
	DeniedTTL time.Duration
	// FollowedTTL is how long both are taken for granted while the authorizer follows RBAC and sees no
	// change about the caller. Give minutes where Node and RBAC are the only authorizers of the cluster:
	// another one may change its mind without RBAC. Default: none; AllowedTTL and DeniedTTL hold.
	FollowedTTL time.Duration
}

const (
	defaultAllowedTTL = 10 * time.Second
	defaultDeniedTTL  = 10 * time.Second
)

// Decision is what the cluster says to something that a caller wants to do.
type Decision struct {
	// Allowed is false unless the cluster has said so.
	Allowed bool
	// Reason is why, in the cluster's words; it may be empty.
	Reason string
}

// Authorizer answers what callers may do. Its methods are safe for concurrent use.
type Authorizer struct {
	reviews    *reviews
	changes    *changes
	rbac       *rbac
	mirrors    mirrors
	candidates Candidates

	namespacesNeeded chan struct{} // closed by needNamespaces
	needNamespaces   func()
}

// NewAuthorizer makes an authorizer that asks by client, which must have the right to
// create subjectaccessreviews, and those that [Candidates] tells.
func NewAuthorizer(client kubernetes.Interface, options AuthorizerOptions) *Authorizer {
	if options.AllowedTTL == 0 {
		options.AllowedTTL = defaultAllowedTTL
	}
	if options.DeniedTTL == 0 {
		options.DeniedTTL = defaultDeniedTTL
	}
	changes := newChanges()
	rbac := newRBAC(changes.note)
	a := &Authorizer{
		reviews:    newReviews(client.AuthorizationV1(), changes, options),
		changes:    changes,
		rbac:       rbac,
		mirrors:    newMirrors(client, rbac),
		candidates: options.Candidates,

		namespacesNeeded: make(chan struct{}),
	}
	a.reviews.hasFollowed = a.mirrors.hasFollowedRBAC
	a.needNamespaces = sync.OnceFunc(func() { close(a.namespacesNeeded) })
	a.mirrors.namespaces.counted = a.countedNamespaces
	return a
}

// Run follows the cluster's rights, and returns when the context has ended and nothing
// of the authorizer runs any more; later calls fail. Until it runs, changes are not told,
// and [Authorizer.Namespaces] waits. Call it once.
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

// Authorize answers whether a caller may do something. With an error it is not known,
// and the caller must not.
func (a *Authorizer) Authorize(ctx context.Context, identity Identity, attributes Attributes) (Decision, error) {
	return a.reviews.decide(ctx, a.reviews.caller(identity), attributes)
}

// Changed is closed when rights may have changed: take it, then ask, then wait for it
// and ask again. That is soon after a change is seen, and again once and five seconds
// after it, for the API server may be later to see it; but not more often than twice a
// second. Who is not concerned is answered from memory then.
//
// What cannot be seen is told by nothing but asking now and then: changes of other
// authorizers than RBAC, of groups, or of RBAC if it may not be watched.
func (a *Authorizer) Changed() <-chan struct{} { return a.changes.next() }
