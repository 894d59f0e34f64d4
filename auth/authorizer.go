package auth

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Decision is the cluster's decision about an action of a caller.
type Decision struct {
	// Allowed is true only if the cluster allows the action.
	Allowed bool
	// Reason is the cluster's explanation. It can be empty.
	Reason string
}

// Attributes describe an action of a caller, like those of a SubjectAccessReview.
type Attributes struct {
	// Verb is a verb of the API server, such as get, list or watch. For a Path it is an HTTP method
	// in lower case.
	Verb string
	// Group, Version, Resource and Subresource name the resource. Group is empty for the core
	// group.
	Group, Version, Resource, Subresource string
	// Namespace is empty for all namespaces, and for a cluster-scoped resource.
	Namespace string
	// Name is empty for all objects.
	Name string
	// Path is the path of a non-resource request, such as /metrics. With a Path, only Verb is used
	// in addition.
	Path string
}

func (a Attributes) resource() *authorizationv1.ResourceAttributes {
	if a.Path != "" {
		return nil
	}
	return &authorizationv1.ResourceAttributes{
		Verb:        a.Verb,
		Group:       a.Group,
		Version:     a.Version,
		Resource:    a.Resource,
		Subresource: a.Subresource,
		Namespace:   a.Namespace,
		Name:        a.Name,
	}
}

func (a Attributes) nonResource() *authorizationv1.NonResourceAttributes {
	if a.Path == "" {
		return nil
	}
	return &authorizationv1.NonResourceAttributes{Verb: a.Verb, Path: a.Path}
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

const (
	defaultAllowedTTL = 10 * time.Second
	defaultDeniedTTL  = 10 * time.Second
)

// Changed returns a channel that is closed when permissions may have changed. Get the channel,
// authorize, then wait for the channel and authorize again. It is closed soon after a change is
// seen, and again one and five seconds after it, because the API server can see the change later;
// but at most twice a second. Requests of callers that are not affected are then served from the
// cache.
//
// Some changes are detected only by authorizing again at an interval: changes of authorizers other
// than RBAC, of groups, and of RBAC if the service is not allowed to watch it.
func (a *Authorizer) Changed() <-chan struct{} { return a.changes.next() }

// Recheck announces that decisions may have changed, for a reason that only the caller of Recheck knows.
func (a *Authorizer) Recheck() { a.changes.note() }

// maxConfirmations bounds the concurrent reviews of one call.
const maxConfirmations = 16

// Namespaces are the namespaces in which a caller is allowed to perform an action. They are
// immutable.
type Namespaces struct {
	// All is set if the caller is allowed to perform it in all namespaces, including future ones.
	All bool
	// Names are otherwise the allowed namespaces, sorted.
	Names []string
	// Uncached reports that the caller may perform it in others too, which the service does not cache.
	Uncached bool
	// Selected has the selectors of the only objects that the service caches; empty if it caches all.
	Selected string
}

// Contains reports whether the action is allowed in a namespace.
func (n Namespaces) Contains(namespace string) bool {
	_, found := slices.BinarySearch(n.Names, namespace)
	return n.All || found
}

// IsNone reports whether the action is allowed in no namespace.
func (n Namespaces) IsNone() bool { return !n.All && len(n.Names) == 0 }

// Equal reports whether both are the same.
func (n Namespaces) Equal(other Namespaces) bool {
	return n.All == other.All && n.Selected == other.Selected && slices.Equal(n.Names, other.Names)
}

// Namespaces returns the namespaces in which a caller is allowed to perform an action on a
// namespaced resource; the namespace of attributes is ignored. The cluster has confirmed each of
// them. After an error nothing is known, and the caller must not see anything.
//
// A caller with the permission in all namespaces costs one review. Other callers cost one more for
// each candidate: a namespace with a role binding that names the caller or one of its groups.
// Permissions in single namespaces that an authorizer other than RBAC grants are not found. Cached
// decisions cost no review.
//
// Candidates require the service's permission to list and watch roles, rolebindings, clusterroles
// and clusterrolebindings. Without it every namespace is a candidate, which requires the permission
// to list and watch namespaces.
func (a *Authorizer) Namespaces(ctx context.Context, identity Identity, attributes Attributes) (Namespaces, error) {
	caller := a.reviews.caller(identity)
	attributes.Namespace = ""
	everywhere, err := a.reviews.decideOrLast(ctx, caller, attributes)
	if err != nil || everywhere.Allowed {
		return Namespaces{All: everywhere.Allowed}, err
	}
	candidates, err := a.candidatesFor(ctx, caller, attributes)
	if err != nil {
		return Namespaces{}, err
	}
	return a.confirm(ctx, caller, attributes, candidates)
}

// Among returns those of some namespaces in which a caller is allowed to perform an action on a
// namespaced resource; the namespace of attributes is ignored. It costs a review for each of them
// whose decision is not cached. After an error nothing is known.
//
// It is for a caller that is allowed to perform one action in all namespaces, and another one only in
// some: the first permission does not imply that for a single namespace.
func (a *Authorizer) Among(
	ctx context.Context, identity Identity, attributes Attributes, namespaces []string,
) (Namespaces, error) {
	return a.confirm(ctx, a.reviews.caller(identity), attributes, namespaces)
}

func (a *Authorizer) candidatesFor(ctx context.Context, caller caller, attributes Attributes) ([]string, error) {
	waitCtx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	state := a.mirrors.rbacKnown(waitCtx)
	switch {
	case caller.own, state == refused:
		return a.allNamespaces(ctx, waitCtx)
	case state == synced:
		return a.rbac.namespaces(caller.subjects, attributes), nil
	}
	return nil, unavailable(ctx, "for its roles and bindings", nil)
}

// runNamespaces keeps the names of all namespaces from when they are first needed. If RBAC provides
// the candidates, they are never needed, nor is the permission to list them.
func (a *Authorizer) runNamespaces(ctx context.Context) {
	select {
	case <-a.namespacesNeeded:
		a.mirrors.namespaces.run(ctx)
	case <-ctx.Done():
	}
}

func (a *Authorizer) allNamespaces(ctx, waitCtx context.Context) ([]string, error) {
	a.needNamespaces()
	switch a.mirrors.namespaces.follower.waitSettled(waitCtx) {
	case synced:
		return a.mirrors.namespaces.namespaces(), nil
	case refused:
		return nil, apierrors.NewInternalError(errors.New("the service is not allowed to list roles and bindings, " +
			"nor namespaces, so it cannot find the namespaces that you can read: name one, " +
			"or ask the service's operator to grant the permission"))
	}
	return nil, unavailable(ctx, "for its namespaces", nil)
}

// confirm reviews each candidate.
func (a *Authorizer) confirm(
	ctx context.Context, caller caller, attributes Attributes, candidates []string,
) (Namespaces, error) {
	var mu sync.Mutex // guards confirmed
	var confirmed Namespaces
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConfirmations)
	for _, namespace := range candidates {
		group.Go(func() error {
			inNamespace := attributes
			inNamespace.Namespace = namespace
			decision, err := a.reviews.decide(ctx, caller, inNamespace)
			mu.Lock()
			defer mu.Unlock()
			if decision.Allowed {
				confirmed.Names = append(confirmed.Names, namespace)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Namespaces{}, err
	}
	slices.Sort(confirmed.Names)
	return confirmed, nil
}

// countedNamespaces announces that namespaces were created or deleted, if all namespaces are
// candidates. Otherwise changes of bindings are announced instead.
func (a *Authorizer) countedNamespaces() {
	if slices.ContainsFunc(a.mirrors.rbac, func(m *mirror) bool { return m.follower.currentState() == refused }) {
		a.changes.note()
	}
}

// ReviewStats returns the statistics of SubjectAccessReviews.
func (a *Authorizer) ReviewStats() ReviewStats { return a.reviews.lookups.stats() }
