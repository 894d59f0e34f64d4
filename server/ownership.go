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
//
// What the caller may not list is hidden, and so is all that is found by way of it alone. It is
// followed silently: an error would say that the hidden object exists, and of which kind its owners
// are. Only whether it leads to the root is answered.
type ownership struct {
	s        *resources
	root     *informerhub.Object
	since    string               // see relation
	resource informerhub.Resource // of the root
	owns     map[string][]string  // UIDs, by the owner's
	seen     map[string]bool      // UIDs of owners that have been looked up; true if an object that is not hidden names them
	hidden   map[string]bool      // UIDs
	refused  map[string]error     // by the UIDs of owners that the caller may not list, and that an object names which is not hidden
}

// ownedByRoot leaves of some objects those that are owned by a relation's root, if it has one.
func (s *resources) ownedByRoot(ctx context.Context, relation relation, objects []*informerhub.Object) ([]*informerhub.Object, error) {
	if relation.root == nil {
		return objects, nil
	}
	o := ownership{
		s: s, root: relation.root, since: relation.since, resource: relation.other,
		owns: make(map[string][]string), hidden: make(map[string]bool), refused: make(map[string]error),
		seen: map[string]bool{relation.root.UID(): true},
	}
	if err := o.follow(ctx, objects); err != nil {
		return nil, err
	}
	return inTurnIf(ctx, len(objects) > objectsBetweenYields, func(ctx context.Context) ([]*informerhub.Object, error) {
		owned, err := o.descendants(ctx)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(slices.Clone(objects), func(object *informerhub.Object) bool { return !owned[object.UID()] }), nil
	})
}

// follow follows owners as far as there are some.
func (o *ownership) follow(ctx context.Context, level []*informerhub.Object) error {
	for n := 0; len(level) > 0; n++ {
		if n == maxOwnerLevels {
			return o.tooHigh(level)
		}
		var err error
		if level, err = o.ownersOf(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// tooHigh returns the error for objects that have too many below them, unless all of them are hidden.
func (o *ownership) tooHigh(level []*informerhub.Object) error {
	for _, object := range level {
		if !o.hidden[object.UID()] {
			return badRequest("related.transitive: %s %q has more than %d owners above each other", object.Kind().Kind, object.Name(), maxOwnerLevels)
		}
	}
	return nil
}

// descendants are the UIDs of all that the root owns.
func (o *ownership) descendants(ctx context.Context) (map[string]bool, error) {
	owned := make(map[string]bool)
	for waiting := []string{o.root.UID()}; len(waiting) > 0; waiting = waiting[1:] {
		if err := yieldEvery(ctx, len(owned)); err != nil {
			return nil, err
		}
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

// naming is owners, by their places, and whether only hidden objects name them.
type naming struct {
	hidden bool
	owners map[place][]informerhub.Owner
}

func (n naming) kinds() []schema.GroupKind {
	kinds := make(map[schema.GroupKind]bool)
	for at := range n.owners {
		kinds[at.kind] = true
	}
	return slices.Collect(maps.Keys(kinds))
}

// ownersOf answers the owners of some objects that have not been seen yet.
func (o *ownership) ownersOf(ctx context.Context, objects []*informerhub.Object) (found []*informerhub.Object, err error) {
	// Hidden objects come last: what another object names too is not hidden.
	for _, hidden := range []bool{false, true} {
		named, err := inTurnIf(ctx, len(objects) > objectsBetweenYields, func(ctx context.Context) (naming, error) { return o.unseen(ctx, objects, hidden) })
		if err != nil {
			return nil, err
		}
		more, err := o.lookUp(ctx, named)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && !hidden:
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// unseen notes the owners of those objects that are hidden, or of those that are not, and
// returns the owners that have not been seen yet.
func (o *ownership) unseen(ctx context.Context, objects []*informerhub.Object, hidden bool) (naming, error) {
	named := naming{hidden, make(map[place][]informerhub.Owner)}
	for i, object := range objects {
		if err := yieldEvery(ctx, i); err != nil {
			return naming{}, err
		}
		if o.hidden[object.UID()] != hidden {
			continue
		}
		for _, owner := range object.Owners() {
			o.owns[owner.UID] = append(o.owns[owner.UID], object.UID())
			if openly, seen := o.seen[owner.UID]; !seen || !openly && !hidden {
				o.seen[owner.UID] = !hidden
				at := place{owner.GroupKind(), object.Namespace()}
				named.owners[at] = append(named.owners[at], owner)
			}
		}
	}
	return named, nil
}

// lookUp answers those of some owners that there are.
func (o *ownership) lookUp(ctx context.Context, named naming) (found []*informerhub.Object, err error) {
	if len(named.owners) == 0 {
		return nil, nil
	}
	found, err = o.lookUpKinds(ctx, named)
	if informerhub.Contradicts(err) && o.s.hub.Resolver().Refresh(ctx) == nil {
		return o.lookUpKinds(ctx, named)
	}
	return found, err
}

func (o *ownership) lookUpKinds(ctx context.Context, named naming) (found []*informerhub.Object, err error) {
	resources, err := o.s.hub.Resolver().ResolveKinds(ctx, named.kinds())
	if err != nil {
		return nil, err
	}
	for at, owners := range named.owners {
		resource, served := resources[at.kind]
		if !served || !o.leadsToRoot(resource, at.namespace) {
			continue
		}
		more, err := o.find(ctx, resource, at.namespace, owners, named.hidden)
		if err != nil && !named.hidden {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// find answers those of some owners of objects of a namespace that there are.
func (o *ownership) find(ctx context.Context, resource informerhub.Resource, namespace string, owners []informerhub.Owner, hidden bool) (found []*informerhub.Object, err error) {
	var refusal error
	if !hidden {
		refusal = o.mayList(ctx, resource, namespace)
	}
	if refusal != nil && !(apierrors.IsForbidden(refusal) && resource == o.resource) {
		return nil, refusal
	}
	if !resource.Namespaced {
		namespace = ""
	}
	if found, err = o.get(ctx, resource, namespace, owners); err != nil {
		return nil, err
	}
	for _, object := range found {
		o.hidden[object.UID()] = hidden || refusal != nil
		if !hidden {
			o.refused[object.UID()] = refusal
		}
	}
	return found, nil
}

// get answers those of some owners that there are, whether the caller may get them or not: what it
// may see is decided by the right to list. What is not cached, the API server decides.
func (o *ownership) get(ctx context.Context, resource informerhub.Resource, namespace string, owners []informerhub.Owner) ([]*informerhub.Object, error) {
	if isLive(resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED) {
		return eachOwner(ctx, owners, func(name string) (*informerhub.Object, error) {
			got, err := o.s.getLive(ctx, resource, &kubeconnectv1.GetRequest{Namespace: namespace, Name: name}, "")
			return got.object, err
		})
	}
	cache, err := o.s.hub.Cache(ctx, resource)
	if err != nil {
		return nil, err
	}
	if err := awaitVersion(ctx, cache, o.since); err != nil {
		return nil, err
	}
	return inTurnIf(ctx, len(owners) > objectsBetweenYields, func(ctx context.Context) ([]*informerhub.Object, error) {
		return eachOwner(ctx, owners, func(name string) (*informerhub.Object, error) { return cache.Get(namespace, name) })
	})
}

// eachOwner gets each of some owners, and returns those that there are.
func eachOwner(ctx context.Context, owners []informerhub.Owner, get func(name string) (*informerhub.Object, error)) (found []*informerhub.Object, err error) {
	for i, owner := range owners {
		if err := yieldEvery(ctx, i); err != nil {
			return nil, err
		}
		object, err := get(owner.Name)
		switch {
		case err != nil && (!apierrors.IsNotFound(err) || informerhub.Contradicts(err)):
			return nil, err
		case err == nil && object.UID() == owner.UID:
			found = append(found, object)
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
