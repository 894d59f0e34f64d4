package joins

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// maxOwnerLevels bounds the levels of owners that are followed. Kubernetes' own kinds have three.
const maxOwnerLevels = 5

// OwnerOf relates a row to its nearest owner, over the owners that are controllers.
type OwnerOf struct{}

func (OwnerOf) begin(page *Page, related Related) finder {
	return &ownerFinder{page, related, related.Resource.GroupVersionKind().GroupKind()}
}

type ownerFinder struct {
	page    *Page
	related Related
	kind    schema.GroupKind
}

// Follow adds the resource of owners between rows and related objects; nil if the kind is not
// followed.
func (p *Page) Follow(kind schema.GroupKind, resource *Related) { p.between[kind] = resource }

// Unfollowed returns the kinds of owners that lead further from some rows and that [Page.Follow] has
// not been called for. Each call finds the kinds of one more level.
func (p *Page) Unfollowed(ctx context.Context, rows []*informerhub.Object) ([]schema.GroupKind, error) {
	unfollowed := make(map[schema.GroupKind]bool)
	for _, join := range p.joins {
		owners, ok := join.finder.(*ownerFinder)
		if !ok {
			continue
		}
		for i, row := range rows {
			if i%stepsBetweenYields == 0 {
				if err := fairqueue.Yield(ctx); err != nil {
					return nil, err
				}
			}
			if !owners.related.reads(row) {
				continue
			}
			_, _ = owners.follow(row, func(kind schema.GroupKind) {
				if !unfollowed[kind] {
					unfollowed[cloneKind(kind)] = true
				}
			})
		}
	}
	return slices.SortedFunc(maps.Keys(unfollowed), compareKinds), nil
}

// cloneKind copies the strings of a kind, which would otherwise retain the object that has them.
func cloneKind(kind schema.GroupKind) schema.GroupKind {
	return schema.GroupKind{Group: strings.Clone(kind.Group), Kind: strings.Clone(kind.Kind)}
}

func compareKinds(a, b schema.GroupKind) int {
	return slices.Compare([]string{a.Group, a.Kind}, []string{b.Group, b.Kind})
}

func (f *ownerFinder) find(_ context.Context, row *informerhub.Object) ([]*informerhub.Object, error) {
	owner, err := f.follow(row, func(schema.GroupKind) {})
	if owner == nil || err != nil {
		return nil, err
	}
	return []*informerhub.Object{owner}, nil
}

// follow returns the nearest owner of a row; nil if there is none, and an *unreadError if it is unknown. It calls unfollowed with a
// kind that may lead to it, but is not known to be followed.
func (f *ownerFinder) follow(row *informerhub.Object, unfollowed func(schema.GroupKind)) (*informerhub.Object, error) {
	for range maxOwnerLevels {
		owner, ok := row.Controller()
		kind := owner.GroupKind()
		if !ok || kind == f.kind {
			return f.related.owner(row, owner, ok), nil
		}
		between, known := f.page.between[kind]
		switch {
		case !known:
			unfollowed(kind)
			return nil, nil
		case between == nil, f.related.Resource.Namespaced && !between.Resource.Namespaced: // which has no namespaced owner
			return nil, nil
		case !between.reads(row):
			return nil, between.unread(row)
		}
		if row = between.owner(row, owner, true); row == nil {
			return nil, nil
		}
	}
	return nil, nil
}

// owner returns an owner of an object if it exists. A namespaced owner is in the namespace of the
// owned object.
func (r Related) owner(owned *informerhub.Object, owner object.Owner, ok bool) *informerhub.Object {
	if !ok || r.Resource.Namespaced && owned.Namespace() == "" {
		return nil
	}
	if found := r.get(owned, owner.Name); found != nil && found.UID() == owner.UID {
		return found
	}
	return nil
}

// FollowsOwners reports whether a join follows owners, for which [Page.Unfollowed] must be called.
func (p *Page) FollowsOwners() bool {
	return p != nil && slices.ContainsFunc(p.joins, func(j *joining) bool { _, ok := j.finder.(*ownerFinder); return ok })
}

// Followed returns the kinds that [Page.Follow] has been called for.
func (p *Page) Followed() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(p.between), compareKinds)
}
