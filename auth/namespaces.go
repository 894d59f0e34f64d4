package auth

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxConfirmations bounds the reviews that one call asks for at one time.
const maxConfirmations = 16

// Namespaces are those in which a caller may do something. They are never changed once
// they have been answered.
type Namespaces struct {
	// All is set if the caller may do it in all namespaces, those to come too.
	All bool
	// Names are the namespaces otherwise, in order.
	Names []string
}

// Contain says whether a namespace is among them.
func (n Namespaces) Contain(namespace string) bool {
	_, found := slices.BinarySearch(n.Names, namespace)
	return n.All || found
}

// Equal says whether two are the same.
func (n Namespaces) Equal(other Namespaces) bool {
	return n.All == other.All && slices.Equal(n.Names, other.Names)
}

// Namespaces answers in which namespaces a caller may do something with a resource that
// has a namespace; that of attributes does not count. The cluster has confirmed each
// right. With an error nothing is known, and the caller must see nothing.
//
// A caller with a right in all namespaces costs one review, others one and one for each
// candidate (see [Candidates]), or none as long as these are remembered.
func (a *Authorizer) Namespaces(ctx context.Context, identity Identity, attributes Attributes) (Namespaces, error) {
	caller := a.reviews.caller(identity)
	attributes.Namespace = ""
	everywhere, err := a.reviews.decide(ctx, caller, attributes)
	if err != nil || everywhere.Allowed {
		return Namespaces{All: everywhere.Allowed}, err
	}
	candidates, err := a.candidatesFor(ctx, caller, attributes)
	if err != nil {
		return Namespaces{}, err
	}
	return a.confirm(ctx, caller, attributes, candidates)
}

func (a *Authorizer) candidatesFor(ctx context.Context, caller caller, attributes Attributes) ([]string, error) {
	waiting, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	seen := a.mirrors.rbacKnown(waiting)
	switch {
	case a.candidates == AllNamespaces, caller.own, seen == refused:
		return a.allNamespaces(ctx, waiting)
	case seen == synced:
		return a.rbac.namespaces(caller.subjects, attributes), nil
	}
	return nil, unavailable(ctx, "for its roles and bindings")
}

// runNamespaces keeps the names of all namespaces from when they are needed first: where
// RBAC tells the candidates, never, and the right to list them is not needed either.
func (a *Authorizer) runNamespaces(ctx context.Context) {
	select {
	case <-a.namespacesNeeded:
		a.mirrors.namespaces.run(ctx)
	case <-ctx.Done():
	}
}

func (a *Authorizer) allNamespaces(ctx, waiting context.Context) ([]string, error) {
	a.needNamespaces()
	switch a.mirrors.namespaces.known(waiting) {
	case synced:
		return a.mirrors.namespaces.namespaces(), nil
	case refused:
		return nil, apierrors.NewInternalError(errors.New("the service may list neither roles and bindings nor namespaces, " +
			"so it cannot find those that you may see: name one, or let the service's operator give it the right"))
	}
	return nil, unavailable(ctx, "for its namespaces")
}

// confirm asks the cluster about each candidate.
func (a *Authorizer) confirm(ctx context.Context, caller caller, attributes Attributes, candidates []string) (Namespaces, error) {
	var mu sync.Mutex // guards confirmed
	var confirmed Namespaces
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConfirmations)
	for _, namespace := range candidates {
		group.Go(func() error {
			there := attributes
			there.Namespace = namespace
			decision, err := a.reviews.decide(ctx, caller, there)
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

// countedNamespaces tells that namespaces have come or gone, where that may let a caller
// see more. With RBAC it is bindings that tell.
func (a *Authorizer) countedNamespaces() {
	anyRefused := slices.ContainsFunc(a.mirrors.rbac, func(m *mirror) bool { return m.now() == refused })
	if a.candidates == AllNamespaces || anyRefused {
		a.changes.note()
	}
}
