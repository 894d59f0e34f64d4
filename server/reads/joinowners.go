package reads

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/joins"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// maxOwnerKinds bounds the kinds of owners that the joins of one call follow, because each costs
// reviews of permissions, and may start a cache.
const maxOwnerKinds = 16

// maxKnownKinds bounds the kinds of owners that are looked up, because each that the cluster does not
// serve may cost a read of discovery.
const maxKnownKinds = 64

// FollowOwners resolves the kinds of owners between the objects of a page and their related objects.
// It sorts the list first if necessary.
func (l *Lists) followOwners(ctx context.Context, list *pagedList, params listParams) error {
	if !list.joined.FollowsOwners() {
		return nil
	}
	rows, err := budget.InSlotIf(ctx, list.isLongToSort(), func(ctx context.Context) ([]*informerhub.Object, error) {
		if err := list.arrange(ctx); err != nil {
			return nil, err
		}
		return list.rowsFor(params)
	})
	if err != nil {
		return err
	}
	return list.relater.FollowOwners(ctx, list.joined, rows)
}

// FollowOwners resolves the kinds of owners between rows and their related objects, level by level.
func (r *Relater) FollowOwners(ctx context.Context, page *joins.Page, rows []*informerhub.Object) error {
	for {
		kinds, err := budget.InSlotIf(ctx, budget.IsLong(rows), func(ctx context.Context) ([]schema.GroupKind, error) {
			return page.Unfollowed(ctx, rows)
		})
		if kinds = r.boundKinds(kinds, len(page.Followed())); err != nil || len(kinds) == 0 {
			return err
		}
		if err := r.Follow(ctx, page, kinds); err != nil {
			return err
		}
	}
}

// Follow adds the resources of owners of some kinds to a page.
func (r *Relater) Follow(ctx context.Context, page *joins.Page, kinds []schema.GroupKind) error {
	resources, err := r.resolveKinds(ctx, kinds)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		resource, served := resources[kind]
		if !served || !resource.Cacheable() || r.isManyKinds() {
			page.Follow(kind, nil)
			continue
		}
		related, err := target.OnResource(ctx, r.Targets, qualified(resource), func(resource informerhub.Resource) (joins.Related, error) {
			return r.related(ctx, "", resource)
		})
		if err != nil {
			return err
		}
		page.Follow(kind, &related)
	}
	return nil
}

// boundKinds returns the kinds that can be looked up in addition to known ones. It adds a warning if
// there are others.
func (r *Relater) boundKinds(kinds []schema.GroupKind, known int) []schema.GroupKind {
	left := max(0, maxKnownKinds-known)
	if len(kinds) <= left {
		return kinds
	}
	if warning := fmt.Sprintf("some owners are not followed, because the objects have owners of more than %d kinds, also of unknown ones", maxKnownKinds); !slices.Contains(r.warnings, warning) {
		r.warnings = append(r.warnings, warning)
	}
	return kinds[:left]
}

// resolveKinds returns the resources of kinds. It remembers those that the cluster does not serve,
// because discovery is read again for such a kind.
func (r *Relater) resolveKinds(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]informerhub.Resource, error) {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind schema.GroupKind) bool { return r.Unserved[kind] })
	resources, err := r.Hub.Resolver().ResolveKinds(ctx, kinds)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		if _, served := resources[kind]; !served {
			r.rememberUnserved(kind)
		}
	}
	return resources, nil
}

func (r *Relater) rememberUnserved(kind schema.GroupKind) {
	if r.Unserved == nil {
		r.Unserved = make(map[schema.GroupKind]bool)
	}
	r.Unserved[kind] = true
}

// qualified returns the name of a resource with its group.
func qualified(resource informerhub.Resource) string { return resource.GroupResource().String() }

// isManyKinds reports whether owners of another kind are not followed, because there are too many
// kinds. In that case it adds a warning.
func (r *Relater) isManyKinds() bool {
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
