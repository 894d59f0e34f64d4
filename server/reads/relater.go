package reads

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/joins"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// Relater resolves joins to the resources that they read. It is owned by one call, or by one
// goroutine of a stream.
//
// It reads nothing of the related objects. It finds their caches, and the namespaces in which the caller can list them; the
// joins read no more than that. A resource that the caller cannot list, or that is not cached, counts as empty in its results, which
// say so: a join does not reveal its objects.
// Kinds of owners are found only when objects name them: see FollowOwners.
type Relater struct {
	// Set once.
	Hub       *informerhub.Hub
	Targets   *target.Resolver
	snapshots *Snapshots
	params    Selection
	listed    informerhub.Resource
	// scope returns the namespaces that a read of related objects covers.
	scope func(context.Context, access.Request) (access.RelatedScope, error)

	// What was resolved so far. It only grows.
	Caches   []*informerhub.Cache // that the joins read; a cache that two joins read is in it twice
	warnings []string
	// ownerKinds is the number of kinds of owners that were followed.
	ownerKinds int
	Unserved   map[schema.GroupKind]bool // kinds of owners that the cluster did not serve
}

// Relater returns a relater of joins to the objects of a resource.
func (s *Snapshots) Relater(
	params Selection, listed informerhub.Resource, scope func(context.Context, access.Request) (access.RelatedScope, error),
) *Relater {
	return &Relater{Hub: s.hub, Targets: s.targets, snapshots: s, params: params, listed: listed, scope: scope}
}

// ResolveAll resolves joins, in their order. An error names the join.
func (r *Relater) ResolveAll(ctx context.Context, all []JoinParams) ([]joins.Join, error) {
	var resolved []joins.Join
	for _, join := range all {
		found, err := r.resolve(ctx, join)
		if err != nil {
			return nil, callerrors.Within(err, fmt.Sprintf("join %q", join.name))
		}
		resolved = append(resolved, found)
	}
	return resolved, nil
}

// AllWarnings returns the warnings about the resources of the joins. It returns none for no joins.
func (r *Relater) AllWarnings() []string {
	if r == nil {
		return nil
	}
	return r.warnings
}

// Freshness returns the freshness of what the joins and another read are computed from.
func (r *Relater) Freshness(other informerhub.Freshness) informerhub.Freshness {
	if r == nil {
		return other
	}
	for _, cache := range r.Caches {
		other = MergeFreshness(other, cache.Freshness())
	}
	return other
}

// NoteJoined records, for the audit log, how many related objects a page of joins has found.
func NoteJoined(ctx context.Context, page *joins.Page) {
	for resource, objects := range page.Found() {
		call.NoteJoined(ctx, resource, objects)
	}
}

// MergeFreshness returns the freshness of what is computed from two sources: as stale as either source, and as old as the older source.
func MergeFreshness(a, b informerhub.Freshness) informerhub.Freshness {
	merged := informerhub.Freshness{Stale: a.Stale || b.Stale, LastContact: a.LastContact}
	if b.LastContact.Before(a.LastContact) {
		merged.LastContact = b.LastContact
	}
	return merged
}

// resolve resolves a join. Only a resource that can be cached can be joined: related objects are looked up by an index, for every
// object of a page. Where it is not cached now, related objects are unknown.
func (r *Relater) resolve(ctx context.Context, join JoinParams) (joins.Join, error) {
	return target.OnResource(ctx, r.Targets, join.resource, func(resource informerhub.Resource) (joins.Join, error) {
		if !resource.Cacheable() {
			return joins.Join{}, apierror.BadRequest("%s are not cached, and only the objects of a cache can be joined", resource.GroupResource())
		}
		relation, err := relationOf(join, r.listed, resource)
		if err != nil {
			return joins.Join{}, err
		}
		related, err := r.related(ctx, join.name, resource)
		if err != nil {
			return joins.Join{}, err
		}
		compiled, err := r.snapshots.compile(ctx, join.filter)
		return joins.Join{Name: join.name, Relation: relation, Related: related, Filter: compiled, View: join.view, Limit: join.limit}, err
	})
}

// related returns a resource as the caller can read it. It can wait for the first snapshot of its cache, and for the version that
// the read must see. join is the name of the join, or empty for owners.
func (r *Relater) related(ctx context.Context, join string, resource informerhub.Resource) (joins.Related, error) {
	read := access.ToList(resource, "", "")
	if resource.Namespaced {
		read.Namespace = r.params.Namespace
	}
	scope, err := r.scope(ctx, read)
	if err != nil {
		return joins.Related{}, err
	}
	related := joins.Related{Resource: resource, Namespaces: access.Restriction(scope.Cached), Permitted: access.Restriction(scope.Permitted)}
	// Without permission no cache is started, so that a caller cannot make the service cache what it cannot read.
	if scope.Cached.IsNone() {
		return related, nil
	}
	cache, err := access.Cache(ctx, r.Hub, read, scope.Cached)
	if err != nil {
		return joins.Related{}, err
	}
	if err := target.AwaitVersion(ctx, cache, r.params.MinVersion); err != nil {
		return joins.Related{}, err
	}
	r.Caches = append(r.Caches, cache)
	r.warnOfCoverage(join, read, scope.Cached)
	related.Cache = cache
	return related, nil
}

// warnOfCoverage warns if only a part of the related objects is cached, and if the objects of only some namespaces are joined to
// cluster-scoped objects. Objects of namespaced resources are related within their namespace: their results say where nothing is read.
// Cluster-scoped objects have no namespaced owners.
func (r *Relater) warnOfCoverage(join string, read access.Request, scope auth.Namespaces) {
	prefix := fmt.Sprintf("join %q", join)
	if join == "" {
		prefix = "joins of owners"
	}
	if r.listed.Namespaced || join == "" {
		scope = auth.Namespaces{All: true, Selected: scope.Selected}
	}
	_, warnings := access.Coverage(read, scope)
	for _, warning := range warnings {
		r.warnings = append(r.warnings, prefix+": "+warning)
	}
}

// relationOf returns the relation of a join between two resources.
func relationOf(join JoinParams, listed, related informerhub.Resource) (joins.Relation, error) {
	if err := checkJoinScopes(join.kind, listed, related); err != nil {
		return nil, err
	}
	switch join.kind {
	case kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY:
		return relationAt(joins.NewNamedBy(join.path))
	case kubeconnectv1.JoinType_JOIN_TYPE_NAMES:
		return relationAt(joins.NewNames(join.path))
	case kubeconnectv1.JoinType_JOIN_TYPE_SELECTED_BY:
		return selectedByRows(listed)
	case kubeconnectv1.JoinType_JOIN_TYPE_SUBJECT_OF:
		field := aboutField[listed.GroupResource()]
		if field == "" {
			return nil, apierror.BadRequest("type SUBJECT_OF is for events: %s are not events", listed.Name)
		}
		return relationAt(joins.NewSubjectOf(field))
	}
	return joins.OwnerOf{}, nil
}

// relationAt returns a relation that depends on a path.
func relationAt[R joins.Relation](relation R, err error) (joins.Relation, error) {
	if err != nil {
		return nil, apierror.BadRequest("path: %v", err)
	}
	return relation, nil
}

// checkJoinScopes rejects a join between resources of which only one is namespaced, where a name or a
// selector alone does not say which objects are related.
func checkJoinScopes(kind kubeconnectv1.JoinType, listed, related informerhub.Resource) error {
	switch kind {
	case kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, kubeconnectv1.JoinType_JOIN_TYPE_OWNER_OF:
		if related.Namespaced && !listed.Namespaced {
			return target.NewScopeError(apierror.BadRequest("%s are namespaced, and %s are not: an object of these cannot name one of them", related.Name, listed.Name))
		}
	case kubeconnectv1.JoinType_JOIN_TYPE_NAMES, kubeconnectv1.JoinType_JOIN_TYPE_SELECTED_BY:
		if listed.Namespaced && !related.Namespaced {
			return target.NewScopeError(apierror.BadRequest("%s are namespaced, and %s are not: only objects in the same namespace can be related in this way", listed.Name, related.Name))
		}
	}
	return nil
}

// selectorFields are the fields that can contain an object's own selector.
var selectorFields = func() *mask.Mask {
	fields, err := mask.Parse([]string{"spec.selector", "spec.podSelector", "status.selector"})
	if err != nil {
		panic(err)
	}
	return fields
}()

// selectedByRows returns the relation of the objects of a resource to those that they select.
func selectedByRows(listed informerhub.Resource) (joins.Relation, error) {
	read := selectorOf(listed)
	if read == nil {
		return nil, apierror.BadRequest("type SELECTED_BY: %s have no selector", listed.Name)
	}
	return joins.SelectedBy(func(row *informerhub.Object) (text string, ok bool, err error) {
		content, err := row.AppendMaskedJSON(nil, selectorFields)
		if err != nil {
			return "", false, err
		}
		selector, err := read.parse(content)
		if err != nil || selector == nil {
			return "", false, err
		}
		return selector.String(), true, nil
	}), nil
}

// FollowOwners resolves the kinds of owners between rows and their related objects, level by level. Each level can wait for the
// cache of another kind, so only reading the owners of the rows takes a processor slot. It ends when no row names a new kind, and
// at maxKnownKinds.
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

// Follow adds the resources of owners of some kinds to a page. A kind that is not served, or above maxOwnerKinds, is added without
// a resource, so that it is not asked for again: owners behind it are not found. Owners behind one that is not cached are unknown.
func (r *Relater) Follow(ctx context.Context, page *joins.Page, kinds []schema.GroupKind) error {
	resources, err := r.resolveKinds(ctx, kinds)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		resource, served := resources[kind]
		if !served || resource.Cacheable() && r.isManyKinds() {
			page.Follow(kind, nil)
			continue
		}
		related, err := target.OnResource(ctx, r.Targets, qualified(resource), func(resource informerhub.Resource) (joins.Related, error) {
			if !resource.Cacheable() {
				return joins.Related{Resource: resource, Namespaces: []string{}}, nil
			}
			return r.related(ctx, "", resource)
		})
		if err != nil {
			return err
		}
		page.Follow(kind, &related)
	}
	return nil
}

// boundKinds returns the kinds that can be looked up in addition to a number of known kinds. It adds a
// warning if there are more kinds.
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

// resolveKinds returns the resources of kinds. It remembers the kinds that the cluster does not serve,
// because discovery is read again for such a kind. Anyone who can write an object can name such an owner.
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

// rememberUnserved records that the cluster does not serve a kind. A stream hands Unserved to its next Relater.
func (r *Relater) rememberUnserved(kind schema.GroupKind) {
	if r.Unserved == nil {
		r.Unserved = make(map[schema.GroupKind]bool)
	}
	r.Unserved[kind] = true
}

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

// qualified returns the name of a resource with its group.
func qualified(resource informerhub.Resource) string { return resource.GroupResource().String() }

// maxOwnerKinds bounds the kinds of owners that the joins of one call follow, because each costs
// reviews of permissions, and may start a cache.
const maxOwnerKinds = 16

// maxKnownKinds bounds the kinds of owners that are looked up, because each that the cluster does not
// serve may cost a read of discovery.
const maxKnownKinds = 64
