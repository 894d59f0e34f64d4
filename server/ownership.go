package server

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// maxOwnerLevels bounds how many owners may stand above each other. Kubernetes' own kinds
// have three levels.
const maxOwnerLevels = 32

// ownership finds out which objects an object owns over any number of owners. It follows
// owners upwards, level by level, for nothing says what an object owns but the objects
// that it owns. It is owned by one request.
type ownership struct {
	s    *resources
	root *informerhub.Object
	owns map[string][]string // UIDs, by the owner's
	seen map[string]bool     // UIDs of those whose owners have been looked up
}

// ownedByRoot leaves of some objects those that are owned by a relation's root, if it has one.
func (s *resources) ownedByRoot(ctx context.Context, relation relation, objects []*informerhub.Object) ([]*informerhub.Object, error) {
	if relation.root == nil {
		return objects, nil
	}
	o := ownership{s: s, root: relation.root, owns: make(map[string][]string), seen: map[string]bool{relation.root.UID(): true}}
	level := objects
	for n := 0; len(level) > 0; n++ {
		if n == maxOwnerLevels {
			return nil, badRequest("related.transitive: %s %q has more than %d owners above each other", level[0].Kind().Kind, level[0].Name(), maxOwnerLevels)
		}
		var err error
		if level, err = o.ownersOf(ctx, level); err != nil {
			return nil, err
		}
	}
	owned := o.descendants()
	return slices.DeleteFunc(slices.Clone(objects), func(object *informerhub.Object) bool { return !owned[object.UID()] }), nil
}

// descendants are the UIDs of all that the root owns.
func (o *ownership) descendants() map[string]bool {
	owned := make(map[string]bool)
	for waiting := []string{o.root.UID()}; len(waiting) > 0; waiting = waiting[1:] {
		for _, uid := range o.owns[waiting[0]] {
			if !owned[uid] {
				owned[uid] = true
				waiting = append(waiting, uid)
			}
		}
	}
	return owned
}

// place is where owners of one kind are.
type place struct {
	kind      schema.GroupKind
	namespace string // of what they own
}

// ownersOf answers the owners of some objects that have not been seen yet.
func (o *ownership) ownersOf(ctx context.Context, objects []*informerhub.Object) ([]*informerhub.Object, error) {
	unseen := make(map[place][]informerhub.Owner)
	for _, object := range objects {
		for _, owner := range object.Owners() {
			o.owns[owner.UID] = append(o.owns[owner.UID], object.UID())
			if !o.seen[owner.UID] {
				o.seen[owner.UID] = true
				at := place{owner.GroupKind(), object.Namespace()}
				unseen[at] = append(unseen[at], owner)
			}
		}
	}
	if len(unseen) == 0 {
		return nil, nil
	}
	return o.lookUp(ctx, unseen)
}

// lookUp answers those of some owners that there are.
func (o *ownership) lookUp(ctx context.Context, wanted map[place][]informerhub.Owner) (found []*informerhub.Object, err error) {
	kinds := make(map[schema.GroupKind]bool)
	for at := range wanted {
		kinds[at.kind] = true
	}
	resources, err := o.s.hub.Resolver().ResolveKinds(ctx, slices.Collect(maps.Keys(kinds)))
	if err != nil {
		return nil, err
	}
	for at, owners := range wanted {
		resource, served := resources[at.kind]
		if !served || !o.leadsToRoot(resource, at.namespace) {
			continue
		}
		cache, err := o.readable(ctx, resource, at.namespace)
		if err != nil {
			return nil, err
		}
		for _, owner := range owners {
			if object := lookUpOwner(cache, at.namespace, owner); object != nil {
				found = append(found, object)
			}
		}
	}
	return found, nil
}

// leadsToRoot reports whether the objects of a resource can own what is in a namespace, or
// in none, and be owned by the root: what has no namespace is not owned by what has one.
func (o *ownership) leadsToRoot(resource informerhub.Resource, namespace string) bool {
	if resource.Namespaced {
		return namespace != ""
	}
	return o.root.Namespace() == ""
}

// readable answers the cache of a resource on the way, which the caller must have the right
// to list there.
func (o *ownership) readable(ctx context.Context, resource informerhub.Resource, namespace string) (*informerhub.Cache, error) {
	identity, wanted := identityFrom(ctx), toList(resource, "", "")
	if resource.Namespaced {
		wanted.namespace = o.root.Namespace() // empty if there may be owners in each
	}
	scope, err := o.s.rights.scope(ctx, identity, wanted)
	if err != nil {
		return nil, err
	}
	if wanted.everywhere() && !scope.Contain(namespace) {
		wanted.namespace = namespace
		return nil, forbidden(identity, wanted.attributes("list"), "")
	}
	return o.s.cacheFor(ctx, resource)
}

// lookUpOwner answers an owner of objects of a namespace; nil if it is not there any more.
func lookUpOwner(cache *informerhub.Cache, namespace string, owner informerhub.Owner) *informerhub.Object {
	if !cache.Resource().Namespaced {
		namespace = ""
	}
	object, err := cache.Get(namespace, owner.Name)
	if err != nil || object.UID() != owner.UID {
		return nil
	}
	return object
}
