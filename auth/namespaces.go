package auth

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxConfirmations bounds the concurrent reviews of one call.
const maxConfirmations = 16

// Namespaces are the namespaces in which a caller is allowed to perform an action. They are
// immutable.
type Namespaces struct {
	// All is set if the caller is allowed to perform it in all namespaces, including future ones.
	All bool
	// Names are otherwise the allowed namespaces, sorted.
	Names []string
}

// Contains reports whether the action is allowed in a namespace.
func (n Namespaces) Contains(namespace string) bool {
	_, found := slices.BinarySearch(n.Names, namespace)
	return n.All || found
}

// Equal reports whether both are the same.
func (n Namespaces) Equal(other Namespaces) bool {
	return n.All == other.All && slices.Equal(n.Names, other.Names)
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
	switch a.mirrors.namespaces.waitSettled(waitCtx) {
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
	if slices.ContainsFunc(a.mirrors.rbac, func(m *mirror) bool { return m.currentState() == refused }) {
		a.changes.note()
	}
}
