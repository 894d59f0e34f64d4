package server

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/joins"
)

// maxOwnerKinds bounds the kinds of owners that the joins of one call follow, because each costs
// reviews of permissions, and may start a cache.
const maxOwnerKinds = 16

// followOwners resolves the kinds of owners between the objects of a page and their related objects.
// It sorts the list first if necessary.
func (r *reads) followOwners(ctx context.Context, list *pagedList, params listParams) error {
	if !list.joined.FollowsOwners() {
		return nil
	}
	rows, err := inSlotIf(ctx, list.isLongToSort(), func(ctx context.Context) ([]*informerhub.Object, error) {
		if err := list.arrange(ctx); err != nil {
			return nil, err
		}
		return list.rowsFor(params)
	})
	if err != nil {
		return err
	}
	return list.relater.followOwners(ctx, list.joined, rows)
}

// followOwners resolves the kinds of owners between rows and their related objects, level by level.
func (r *relater) followOwners(ctx context.Context, page *joins.Page, rows []*informerhub.Object) error {
	for {
		kinds, err := inSlotIf(ctx, len(rows) > objectsBetweenYields, func(ctx context.Context) ([]schema.GroupKind, error) {
			return page.Unfollowed(ctx, rows)
		})
		if err != nil || len(kinds) == 0 {
			return err
		}
		if err := r.follow(ctx, page, kinds); err != nil {
			return err
		}
	}
}

// follow adds the resources of owners of some kinds to a page.
func (r *relater) follow(ctx context.Context, page *joins.Page, kinds []schema.GroupKind) error {
	resources, err := r.hub.Resolver().ResolveKinds(ctx, kinds)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		resource, served := resources[kind]
		if !served || !resource.Cacheable() || r.isManyKinds() {
			page.Follow(kind, nil)
			continue
		}
		related, err := onResource(ctx, r.cluster, qualified(resource), func(resource informerhub.Resource) (joins.Related, error) {
			return r.related(ctx, "", resource)
		})
		if err != nil {
			return err
		}
		page.Follow(kind, &related)
	}
	return nil
}

// qualified returns the name of a resource with its group.
func qualified(resource informerhub.Resource) string { return resource.GroupResource().String() }

// isManyKinds reports whether owners of another kind are not followed, because there are too many
// kinds. In that case it adds a warning.
func (r *relater) isManyKinds() bool {
	if r.ownerKinds++; r.ownerKinds <= maxOwnerKinds {
		return false
	}
	if r.ownerKinds == maxOwnerKinds+1 {
		r.warnings = append(r.warnings, fmt.Sprintf("some owners are not followed, because the objects have owners of more than %d kinds", maxOwnerKinds))
	}
	return true
}

// rowsFor returns the objects that can be in the page: at least all that fit.
func (l *pagedList) rowsFor(params listParams) ([]*informerhub.Object, error) {
	objects, err := l.next()
	if err != nil {
		return nil, err
	}
	limit, mostBytes := mostFor(params)
	for i, object := range objects[:min(limit, len(objects))] {
		if mostBytes -= object.Size(); mostBytes < 0 {
			return objects[:i+1], nil
		}
	}
	return objects[:min(limit, len(objects))], nil
}
