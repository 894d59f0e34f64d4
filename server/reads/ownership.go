package reads

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// maxOwnerLevels bounds the levels of owners. Kubernetes' own kinds have three levels.
const maxOwnerLevels = 32

// ownership finds the objects that an object owns directly or through other owners. It follows
// owner references upwards, level by level, because only the owned objects name their owners. It is
// owned by one request.
//
// It follows objects that the caller can list. Other objects that may lead to the root cause a
// Forbidden error, except for objects of the root's own resource: these cause it only if they do
// lead to the root. Otherwise a caller with the permission to get one deployment could not select
// its pods while another deployment has pods in the namespace.
//
// Objects that the caller cannot list are hidden, and so are objects that are found only through
// them. They are followed silently, because an error would reveal that the hidden object exists,
// and the kind of its owners. Only whether it leads to the root is returned.
type ownership struct {
	// Set once.
	relations *Relations
	root      *informerhub.Object
	since     string               // see Relation.since
	resource  informerhub.Resource // of the root

	// What was found so far. Objects are identified by their UIDs, because a name can be used again.
	owns map[string][]string // UIDs of owned objects, by the UID of the owner
	// seen are the UIDs of owners that have been looked up; true if a visible object names them.
	seen    map[string]bool
	hidden  map[string]bool  // UIDs
	refused map[string]error // by the UIDs of owners that the caller cannot list and that a visible object names
}

// ownedByRoot returns the objects that a relation's root owns, or all objects if it has no root.
func (r *Relations) ownedByRoot(ctx context.Context, relation Relation, objects []*informerhub.Object) ([]*informerhub.Object, error) {
	if relation.owner == nil {
		return objects, nil
	}
	o := ownership{
		relations: r, root: relation.owner, since: relation.since, resource: relation.OtherResource,
		owns: make(map[string][]string), hidden: make(map[string]bool), refused: make(map[string]error),
		seen: map[string]bool{relation.owner.UID(): true},
	}
	// First upwards, from the objects to everything that may own them. Then downwards from the root, over what was found.
	if err := o.follow(ctx, objects); err != nil {
		return nil, err
	}
	return budget.InSlotIf(ctx, len(objects) > budget.ObjectsBetweenYields, func(ctx context.Context) ([]*informerhub.Object, error) {
		owned, err := o.descendants(ctx)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(slices.Clone(objects), func(object *informerhub.Object) bool { return !owned[object.UID()] }), nil
	})
}

// follow follows owners until there are no further ones.
func (o *ownership) follow(ctx context.Context, level []*informerhub.Object) error {
	for n := 0; len(level) > 0; n++ {
		if n == maxOwnerLevels {
			return o.errTooManyLevels(level)
		}
		var err error
		if level, err = o.ownersOf(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// errTooManyLevels returns the error for objects with too many levels of owners, or nil if all of
// the objects are hidden.
func (o *ownership) errTooManyLevels(level []*informerhub.Object) error {
	for _, object := range level {
		if !o.hidden[object.UID()] {
			return apierror.BadRequest("related.transitive: %s %q has more than %d owners above each other", object.Kind().Kind, object.Name(), maxOwnerLevels)
		}
	}
	return nil
}

// descendants returns the UIDs of all objects that the root owns. An owner that the caller cannot list is an error only here,
// where it is known to lead to the root.
func (o *ownership) descendants(ctx context.Context) (map[string]bool, error) {
	owned := make(map[string]bool)
	for waiting := []string{o.root.UID()}; len(waiting) > 0; waiting = waiting[1:] {
		if err := budget.YieldEvery(ctx, len(owned)); err != nil {
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

// ownerLocation is the location of owners of one kind.
type ownerLocation struct {
	kind      schema.GroupKind
	namespace string // of the objects that they own
}

// ownerSet is a set of owners, by their places, and whether only hidden objects name them.
type ownerSet struct {
	hidden bool
	owners map[ownerLocation][]object.Owner
}

func (n ownerSet) kinds() []schema.GroupKind {
	kinds := make(map[schema.GroupKind]bool)
	for at := range n.owners {
		kinds[at.kind] = true
	}
	return slices.Collect(maps.Keys(kinds))
}

// ownersOf returns the owners of objects that have not been looked up yet.
func (o *ownership) ownersOf(ctx context.Context, objects []*informerhub.Object) (found []*informerhub.Object, err error) {
	// Hidden objects come last, because an owner that a visible object also names is not hidden.
	for _, hidden := range []bool{false, true} {
		named, err := budget.InSlotIf(ctx, budget.IsLong(objects), func(ctx context.Context) (ownerSet, error) { return o.unseen(ctx, objects, hidden) })
		if err != nil {
			return nil, err
		}
		more, err := o.find(ctx, named)
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

// unseen records the owners of the objects that are hidden, or of those that are not, and returns
// the owners that have not been looked up yet.
func (o *ownership) unseen(ctx context.Context, objects []*informerhub.Object, hidden bool) (ownerSet, error) {
	named := ownerSet{hidden, make(map[ownerLocation][]object.Owner)}
	for i, object := range objects {
		if err := budget.YieldEvery(ctx, i); err != nil {
			return ownerSet{}, err
		}
		if o.hidden[object.UID()] != hidden {
			continue
		}
		for _, owner := range object.Owners() {
			o.owns[owner.UID] = append(o.owns[owner.UID], object.UID())
			if openly, seen := o.seen[owner.UID]; !seen || !openly && !hidden {
				o.seen[owner.UID] = !hidden
				at := ownerLocation{owner.GroupKind(), object.Namespace()}
				named.owners[at] = append(named.owners[at], owner)
			}
		}
	}
	return named, nil
}

// find returns the owners that exist. If the API server contradicts discovery about a kind, discovery is
// refreshed, and all kinds are looked up once more.
func (o *ownership) find(ctx context.Context, named ownerSet) (found []*informerhub.Object, err error) {
	if len(named.owners) == 0 {
		return nil, nil
	}
	found, err = o.lookUpKinds(ctx, named)
	if discovery.Contradicts(err) && o.relations.hub.Resolver().Refresh(ctx) == nil {
		return o.lookUpKinds(ctx, named)
	}
	return found, err
}

// lookUpKinds returns the owners that exist, of all kinds that can lead to the root. An error about owners that only hidden objects
// name is dropped: the caller must not learn that these exist.
func (o *ownership) lookUpKinds(ctx context.Context, named ownerSet) (found []*informerhub.Object, err error) {
	resources, err := o.relations.hub.Resolver().ResolveKinds(ctx, named.kinds())
	if err != nil {
		return nil, err
	}
	for at, owners := range named.owners {
		resource, served := resources[at.kind]
		if !served || !o.leadsToRoot(resource, at.namespace) {
			continue
		}
		more, err := o.findIn(ctx, resource, at.namespace, owners, named.hidden)
		if err != nil && !named.hidden {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// findIn returns the owners that exist, of objects in a namespace.
func (o *ownership) findIn(ctx context.Context, resource informerhub.Resource, namespace string, owners []object.Owner, hidden bool) (found []*informerhub.Object, err error) {
	// refusal is the Forbidden error for owners that the caller cannot list. It is kept for descendants.
	var refusal error
	if !hidden {
		refusal = o.checkList(ctx, resource, namespace)
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

// get returns the owners that exist, whether or not the caller can get them: the permission to list
// decides what the caller can see. For resources that are not cached, the API server decides.
func (o *ownership) get(ctx context.Context, resource informerhub.Resource, namespace string, owners []object.Owner) ([]*informerhub.Object, error) {
	resource, err := o.relations.objects.targets.CachedIn(ctx, resource, namespace)
	if err != nil {
		return nil, err
	}
	if isLive(resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED) || o.relations.hub.Selected(resource) != "" {
		return eachOwner(ctx, owners, func(name string) (*informerhub.Object, error) {
			got, err := o.relations.objects.readLive(ctx, resource, GetParams{Namespace: namespace, Name: name})
			return got.Object, err
		})
	}
	cache, err := access.Cache(ctx, o.relations.hub, access.ToList(resource, namespace, ""), auth.Namespaces{All: true})
	if err != nil {
		return nil, err
	}
	if err := target.AwaitVersion(ctx, cache, o.since); err != nil {
		return nil, err
	}
	return budget.InSlotIf(ctx, len(owners) > budget.ObjectsBetweenYields, func(ctx context.Context) ([]*informerhub.Object, error) {
		return eachOwner(ctx, owners, func(name string) (*informerhub.Object, error) { return cache.Get(namespace, name) })
	})
}

// eachOwner gets each owner, and returns those that exist.
func eachOwner(ctx context.Context, owners []object.Owner, get func(name string) (*informerhub.Object, error)) (found []*informerhub.Object, err error) {
	for i, owner := range owners {
		if err := budget.YieldEvery(ctx, i); err != nil {
			return nil, err
		}
		object, err := get(owner.Name)
		switch {
		case err != nil && (!apierrors.IsNotFound(err) || discovery.Contradicts(err)):
			return nil, err
		case err == nil && object.UID() == owner.UID:
			found = append(found, object)
		}
	}
	return found, nil
}

// leadsToRoot reports whether objects of a resource can own objects in a namespace (empty for
// cluster-scoped objects) and be owned by the root. A cluster-scoped object is never owned by a
// namespaced one.
func (o *ownership) leadsToRoot(resource informerhub.Resource, namespace string) bool {
	if resource.Namespaced {
		return namespace != ""
	}
	return o.root.Namespace() == ""
}

// checkList returns nil if the caller has the permission to list a resource where it may own the
// objects.
func (o *ownership) checkList(ctx context.Context, resource informerhub.Resource, namespace string) error {
	identity, read := call.IdentityFrom(ctx), access.ToList(resource, "", "")
	if resource.Namespaced {
		read.Namespace = o.root.Namespace() // empty if there may be owners in each
	}
	scope, err := o.relations.permissions.Scope(ctx, identity, read)
	if err == nil && read.SpansNamespaces() && !scope.Contains(namespace) {
		read.Namespace = namespace
		err = access.Forbidden(identity, read.Attributes("list"), "")
	}
	return err
}
