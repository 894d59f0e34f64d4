package server

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// maxOwnerLevels bounds how many owners may stand above each other. Kubernetes' own kinds
// have three levels.
const maxOwnerLevels = 32

// ownership finds out which objects an object owns over any number of owners. It follows
// owners upwards, level by level, for nothing says what an object owns but the objects
// that it owns. It is owned by one request.
//
// It follows what the caller may list. Whatever else may lead to the root is refused, but
// for objects of the root's own resource: these are refused when they do lead there. Else
// who may get one deployment could not ask for its pods beside those of another one.
type ownership struct {
	s        *resources
	root     *informerhub.Object
	since    string               // see relation
	resource informerhub.Resource // of the root
	owns     map[string][]string  // UIDs, by the owner's
	seen     map[string]bool      // UIDs of those whose owners have been looked up
	refused  map[string]error     // by the UIDs of those that the caller may not list
}

// ownedByRoot leaves of some objects those that are owned by a relation's root, if it has one.
func (s *resources) ownedByRoot(ctx context.Context, relation relation, objects []*informerhub.Object) ([]*informerhub.Object, error) {
	if relation.root == nil {
		return objects, nil
	}
	o := ownership{
		s: s, root: relation.root, since: relation.since, resource: relation.other,
		owns: make(map[string][]string), refused: make(map[string]error),
		seen: map[string]bool{relation.root.UID(): true},
	}
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
	owned, err := o.descendants()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(objects), func(object *informerhub.Object) bool { return !owned[object.UID()] }), nil
}

// descendants are the UIDs of all that the root owns.
func (o *ownership) descendants() (map[string]bool, error) {
	owned := make(map[string]bool)
	for waiting := []string{o.root.UID()}; len(waiting) > 0; waiting = waiting[1:] {
		for _, uid := range o.owns[waiting[0]] {
			if err := o.refused[uid]; err != nil {
				return nil, err
			}
			if !owned[uid] {
				owned[uid] = true
				waiting = append(waiting, uid)
			}
		}
	}
	return owned, nil
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
	found, err = o.lookUpKinds(ctx, slices.Collect(maps.Keys(kinds)), wanted)
	if informerhub.Contradicts(err) && o.s.hub.Resolver().Refresh(ctx) == nil {
		return o.lookUpKinds(ctx, slices.Collect(maps.Keys(kinds)), wanted)
	}
	return found, err
}

func (o *ownership) lookUpKinds(ctx context.Context, kinds []schema.GroupKind, wanted map[place][]informerhub.Owner) (found []*informerhub.Object, err error) {
	resources, err := o.s.hub.Resolver().ResolveKinds(ctx, kinds)
	if err != nil {
		return nil, err
	}
	for at, owners := range wanted {
		resource, served := resources[at.kind]
		if !served || !o.leadsToRoot(resource, at.namespace) {
			continue
		}
		more, err := o.follow(ctx, resource, at.namespace, owners)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// follow answers those of some owners of objects of a namespace that there are.
func (o *ownership) follow(ctx context.Context, resource informerhub.Resource, namespace string, owners []informerhub.Owner) (found []*informerhub.Object, err error) {
	refusal := o.mayList(ctx, resource, namespace)
	if refusal != nil && !(apierrors.IsForbidden(refusal) && resource == o.resource) {
		return nil, refusal
	}
	if !resource.Namespaced {
		namespace = ""
	}
	for _, owner := range owners {
		object, err := o.get(ctx, resource, namespace, owner.Name)
		switch {
		case err != nil && (!apierrors.IsNotFound(err) || informerhub.Contradicts(err)):
			return nil, err
		case err == nil && object.UID() == owner.UID:
			found = append(found, object)
			o.refused[object.UID()] = refusal
		}
	}
	return found, nil
}

// get answers an object, whether the caller may get it or not: what it may see is
// decided by the right to list. What is not cached, the API server decides.
func (o *ownership) get(ctx context.Context, resource informerhub.Resource, namespace, name string) (*informerhub.Object, error) {
	if isLive(resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED) {
		got, err := o.s.getLive(ctx, resource, &kubeconnectv1.GetRequest{Namespace: namespace, Name: name}, "")
		return got.object, err
	}
	cache, err := o.s.hub.Cache(ctx, resource)
	if err != nil {
		return nil, err
	}
	if err := awaitVersion(ctx, cache, o.since); err != nil {
		return nil, err
	}
	return cache.Get(namespace, name)
}

// leadsToRoot reports whether the objects of a resource can own what is in a namespace, or
// in none, and be owned by the root: what has no namespace is not owned by what has one.
func (o *ownership) leadsToRoot(resource informerhub.Resource, namespace string) bool {
	if resource.Namespaced {
		return namespace != ""
	}
	return o.root.Namespace() == ""
}

// mayList answers nil if the caller has the right to list a resource where what it owns is.
func (o *ownership) mayList(ctx context.Context, resource informerhub.Resource, namespace string) error {
	identity, wanted := identityFrom(ctx), toList(resource, "", "")
	if resource.Namespaced {
		wanted.namespace = o.root.Namespace() // empty if there may be owners in each
	}
	scope, err := o.s.rights.scope(ctx, identity, wanted)
	if err == nil && wanted.everywhere() && !scope.Contain(namespace) {
		wanted.namespace = namespace
		err = forbidden(identity, wanted.attributes("list"), "")
	}
	return err
}
