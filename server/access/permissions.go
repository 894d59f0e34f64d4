package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

// Authorizer decides what callers can do; see [auth.Authorizer]. Its methods are safe for concurrent use.
type Authorizer interface {
	// Authorize decides about one action.
	Authorize(ctx context.Context, identity auth.Identity, attributes auth.Attributes) (auth.Decision, error)
	// Namespaces returns the namespaces in which an action is allowed; All if it is allowed in all of them at once.
	Namespaces(ctx context.Context, identity auth.Identity, attributes auth.Attributes) (auth.Namespaces, error)
	// Among returns the given namespaces in which an action is allowed.
	Among(ctx context.Context, identity auth.Identity, attributes auth.Attributes, namespaces []string) (auth.Namespaces, error)
	// Changed returns a channel that is closed when decisions may have changed.
	Changed() <-chan struct{}
}

// Request is a read that a caller wants to make, with the permissions that it needs. It is a value: its methods return
// changed copies.
type Request struct {
	Resource        informerhub.Resource
	Namespace, name string
	verbs           []string // all are needed
	subresource     string   // empty for the objects themselves
	// Indivisible requires the permission for everything that the read names: it is never
	// restricted to some namespaces.
	Indivisible bool
	// Live reports that the read is sent to the API server, whatever the service caches.
	Live bool
	// Selection is what the read selects by, for the audit log alone.
	Selection call.Selection
	// also is another read that is needed in the same scope; nil for none.
	also *Request
}

// In returns the namespaces to read in a scope; nil for all.
func (a Request) In(scope auth.Namespaces) []string {
	switch {
	case !a.Resource.Namespaced:
		return nil
	case a.Namespace != "":
		return []string{a.Namespace}
	}
	return Restriction(scope)
}

// Cache returns the cache that a read in a scope uses. It fails with an [informerhub.ScopeError] if the service does not cache
// the whole scope any more.
func Cache(ctx context.Context, hub *informerhub.Hub, read Request, scope auth.Namespaces) (*informerhub.Cache, error) {
	return CacheFrom(ctx, hub.Cache, read, scope)
}

// CacheFrom returns the cache that a read in a scope uses, as Cache does, from a method of the hub: [informerhub.Hub.Running] returns nil
// if there is no such cache yet.
func CacheFrom(
	ctx context.Context, get func(context.Context, informerhub.Resource, ...string) (*informerhub.Cache, error), read Request, scope auth.Namespaces,
) (*informerhub.Cache, error) {
	names := read.In(scope)
	cache, err := get(ctx, read.Resource, names...)
	if cache != nil && err == nil && names == nil && cache.Namespaces() != nil {
		err = &informerhub.ScopeError{Resource: read.Resource}
	}
	return cache, err
}

// Requiring returns the same read. If all is true, the read is rejected unless the caller has the
// permission for all namespaces.
func (a Request) Requiring(all bool) Request {
	a.Indivisible = a.Indivisible || all
	return a
}

// WithLogs returns the same read of pods, with their logs.
func (a Request) WithLogs() Request {
	logs := ToGetLog(a.Namespace, a.name).Requiring(a.Indivisible)
	a.also = &logs
	return a
}

// ToGet returns the read of one object.
func ToGet(resource informerhub.Resource, namespace, name string) Request {
	return Request{Resource: resource, Namespace: namespace, name: name, verbs: []string{"get"}}
}

// ToList returns the read of a list.
func ToList(resource informerhub.Resource, namespace, fieldSelector string) Request {
	return Request{Resource: resource, Namespace: namespace, name: selectedName(fieldSelector), verbs: []string{"list"}}
}

// ToWatch returns the read of a watch. It needs the permissions to list and to watch. A watch of
// one object needs only the permission to watch that name. A resource that is not cached is watched
// at the API server as the caller, which must have the permission for everything that the watch
// names.
func ToWatch(resource informerhub.Resource, namespace, name, fieldSelector string) Request {
	if name == "" {
		name = selectedName(fieldSelector)
	}
	access := Request{Resource: resource, Namespace: namespace, name: name, verbs: []string{"list", "watch"}, Indivisible: !resource.Cacheable()}
	if name != "" {
		access.verbs = []string{"watch"}
	}
	return access
}

// ToWatchAlone returns the read of a watch by Kubernetes' own API, which needs only the permission to watch, for everything that it
// names.
func ToWatchAlone(resource informerhub.Resource, namespace, fieldSelector string) Request {
	return Request{Resource: resource, Namespace: namespace, name: selectedName(fieldSelector), verbs: []string{"watch"}, Indivisible: true}
}

// ToConnect returns the read of a connection, or of a stream, that the API server serves: with one verb, of an object, of a collection if
// name is empty, or of a subresource.
func ToConnect(resource informerhub.Resource, verb, namespace, name, subresource string) Request {
	return Request{
		Resource: resource, Namespace: namespace, name: name, subresource: subresource, verbs: []string{verb}, Indivisible: true, Live: true,
	}
}

// selectedName returns the only name that a field selector can select, as the API server derives
// it, or an empty string.
func selectedName(fieldSelector string) string {
	selector, err := fields.ParseSelector(fieldSelector)
	if err != nil {
		return "" // rejected when it is parsed; until then it selects no name
	}
	name, _ := selector.RequiresExactMatch("metadata.name")
	return name
}

// Attributes returns the action that the API server would authorize for one of the verbs of the read.
func (a Request) Attributes(verb string) auth.Attributes {
	return auth.Attributes{
		Verb:        verb,
		Group:       a.Resource.Group,
		Version:     a.Resource.Version,
		Resource:    a.Resource.Name,
		Subresource: a.subresource,
		Namespace:   RequestNamespace(a.Resource, verb, a.Namespace, a.name),
		Name:        a.name,
	}
}

// isSame reports whether another read needs the same permissions. It is for reads of related objects, which need no other read
// in addition (see also).
func (a Request) isSame(other Request) bool {
	return a.Resource == other.Resource && a.Namespace == other.Namespace && a.name == other.name &&
		a.subresource == other.subresource && a.Indivisible == other.Indivisible && slices.Equal(a.verbs, other.verbs)
}

// NoteForwarded records, for the audit log, that the read is sent to the API server as the caller.
func (a Request) NoteForwarded(ctx context.Context) {
	a.note(ctx, call.Read{Scope: auth.Namespaces{All: true}, Forwarded: true})
}

// note records a decision about the read, and about the one that is needed in addition. A watch is one read, although it
// also needs the permission to list.
func (a Request) note(ctx context.Context, decided call.Read) {
	if !call.IsAudited(ctx) {
		return
	}
	decided.Selection = a.Selection
	for request := &a; request != nil; request = request.also {
		decided.Attributes, decided.Namespaced = request.Attributes(request.verbs[len(request.verbs)-1]), request.Resource.Namespaced
		call.NoteRead(ctx, decided)
	}
}

// SpansNamespaces reports whether the read covers all namespaces that the caller can read.
func (a Request) SpansNamespaces() bool {
	return a.Resource.Namespaced && a.Namespace == "" && !a.Indivisible
}

// Permissions checks reads against the cluster's permissions. It is a value, and safe for concurrent use.
type Permissions struct {
	authorizer Authorizer // nil: only the kubeconfig's user has permissions
	cached     Cached     // nil: all namespaces are cached
}

// Cached says what of a resource is cached; see the methods of [informerhub.Hub]. Its methods are safe for
// concurrent use.
type Cached interface {
	Namespaces(ctx context.Context, resource informerhub.Resource) ([]string, error)
	ScopesChanged() <-chan struct{}
	Selected(resource informerhub.Resource) string
}

// NewPermissions returns the permissions that an authorizer decides about, within what is cached. nil is no authorizer, and
// caches of all namespaces. A change of what is cached must be announced by Changed of the authorizer too.
func NewPermissions(authorizer Authorizer, cached Cached) Permissions {
	return Permissions{authorizer, cached}
}

// changed returns a channel that is closed when an identity's permissions, or what is cached, may have changed; nil
// if they cannot change.
func (r Permissions) changed(identity auth.Identity) <-chan struct{} {
	switch {
	case r.authorizer != nil && !identity.IsKubeconfigUser():
		return r.authorizer.Changed()
	case r.cached != nil:
		return r.cached.ScopesChanged()
	}
	return nil
}

// Scope returns the namespaces that a read can cover, or a Forbidden error if there are none. A
// read of one namespace, or of a resource that is not namespaced, is allowed as a whole or not at
// all. Then All means no more than that. A read of several namespaces needs each of its permissions in
// each of them, because an authorizer that denies can precede RBAC. A read of all namespaces from caches covers those that are
// cached.
//
// The read is noted for the audit log: what is read from memory is decided here, whichever call reads it.
func (r Permissions) Scope(ctx context.Context, identity auth.Identity, access Request) (auth.Namespaces, error) {
	scope, err := r.scope(ctx, identity, access)
	access.note(ctx, call.Read{Scope: scope, Err: err})
	return scope, err
}

// scope is Scope without a note.
func (r Permissions) scope(ctx context.Context, identity auth.Identity, access Request) (auth.Namespaces, error) {
	scope, err := r.permitted(ctx, identity, access)
	if err != nil || r.cached == nil || access.Live || !access.Resource.Cacheable() {
		return scope, err
	}
	if access.Resource.Namespaced && access.Namespace == "" {
		scope, err = r.inCaches(ctx, access, scope)
	}
	scope.Selected = r.cached.Selected(access.Resource)
	return scope, err
}

// inCaches returns the namespaces of a scope that are cached. After it was called, permissions and caches can change
// independently: see Cache.
func (r Permissions) inCaches(ctx context.Context, access Request, scope auth.Namespaces) (auth.Namespaces, error) {
	names, err := r.cached.Namespaces(ctx, access.Resource)
	if err != nil || names == nil {
		return scope, err
	}
	cached := among(scope, names)
	switch {
	case len(names) == 0: // the service has just lost the last of them: the caller that asks again is served at the API server
		return auth.Namespaces{}, &informerhub.ScopeError{Resource: access.Resource}
	case access.Indivisible:
		return auth.Namespaces{}, notCached(access.Resource, "all of them")
	case len(cached.Names) == 0:
		return auth.Namespaces{}, notCached(access.Resource, "those that you may read")
	}
	return cached, nil
}

// among returns the namespaces of a scope that are among those that are cached.
func among(scope auth.Namespaces, names []string) auth.Namespaces {
	cached := intersect(scope, auth.Namespaces{Names: names})
	cached.Uncached = scope.All || len(cached.Names) < len(scope.Names)
	return cached
}

// notCached returns the error for a read of namespaces that are not cached.
func notCached(resource informerhub.Resource, which string) error {
	return apierrors.NewForbidden(resource.GroupResource(), "", fmt.Errorf("the service caches them in some namespaces, and not in %s: "+
		"name a namespace, or read them at the API server with consistency LATEST", which))
}

// permitted returns the namespaces that a read can cover by the permissions of an identity.
func (r Permissions) permitted(ctx context.Context, identity auth.Identity, access Request) (auth.Namespaces, error) {
	scope := auth.Namespaces{All: true}
	if identity.IsKubeconfigUser() {
		return scope, nil // the API server has checked the permissions of this user when it filled the cache
	}

	// The namespaces that all permissions of the read have in common. everywhere has the permissions that are allowed for
	// all namespaces at once, so that they restrict nothing yet.
	var everywhere []auth.Attributes
	narrow := func(allowed auth.Namespaces, attributes auth.Attributes) error {
		if scope = intersect(scope, allowed); scope.All || len(scope.Names) > 0 {
			return nil
		}
		return Forbidden(identity, attributes, "")
	}
	for request := &access; request != nil; request = request.also {
		for _, verb := range request.verbs {
			attributes := request.Attributes(verb)
			allowed, err := r.allowed(ctx, identity, *request, attributes)
			if err == nil {
				err = narrow(allowed, attributes)
			}
			if err != nil {
				return auth.Namespaces{}, err
			}
			if allowed.All {
				everywhere = append(everywhere, attributes)
			}
		}
	}
	if scope.All {
		return scope, nil
	}

	// The read now covers some namespaces. A permission for all of them at once says nothing about each of them: another
	// authorizer may deny it in one of them.
	for _, attributes := range everywhere {
		allowed, err := r.authorizer.Among(ctx, identity, attributes, scope.Names)
		if err == nil {
			err = narrow(allowed, attributes)
		}
		if err != nil {
			return auth.Namespaces{}, err
		}
	}
	return scope, nil
}

// RelatedScope are the namespaces of a read of related objects. As for any scope, All means no more than what the read names.
type RelatedScope struct {
	Permitted auth.Namespaces // those in which the caller has the permission
	Cached    auth.Namespaces // those of them that are cached: what is read
}

// ScopeOfRelated returns the scope of a read of related objects from caches, which is made as far as possible: without
// a permission, or a cache, the scope has fewer namespaces, or none. The two parts show which of both is missing.
//
// The read is noted for the audit log if the caller is not allowed to make it, and if anything is read.
func (r Permissions) ScopeOfRelated(ctx context.Context, identity auth.Identity, access Request) (RelatedScope, error) {
	permitted, err := r.permitted(ctx, identity, access)
	scope := RelatedScope{Permitted: permitted, Cached: permitted}
	if err == nil && r.cached != nil {
		scope.Cached, err = r.cachedPart(ctx, access, permitted)
	}
	switch {
	case err != nil:
		access.note(ctx, call.Read{Err: err})
		if apierrors.IsForbidden(err) {
			err = nil
		}
		return RelatedScope{}, err
	case !scope.Cached.IsNone():
		access.note(ctx, call.Read{Scope: scope.Cached})
	}
	return scope, nil
}

// cachedPart returns the part of a scope that is cached. Unlike inCaches, it is for reads of one namespace too.
func (r Permissions) cachedPart(ctx context.Context, access Request, scope auth.Namespaces) (auth.Namespaces, error) {
	names, err := r.cached.Namespaces(ctx, access.Resource)
	switch {
	case err != nil:
		return auth.Namespaces{}, err
	case names == nil:
	case access.Resource.Namespaced && access.Namespace == "":
		scope = among(scope, names)
	case !slices.Contains(names, access.Namespace): // also without namespaces: then names is empty
		return auth.Namespaces{}, nil
	}
	scope.Selected = r.cached.Selected(access.Resource)
	return scope, nil
}

// allowed returns the namespaces in which an identity has a permission of a read: some of them only for a read that spans
// namespaces. For any other read the answer is all or an error.
func (r Permissions) allowed(ctx context.Context, identity auth.Identity, access Request, attributes auth.Attributes) (auth.Namespaces, error) {
	switch {
	case r.authorizer == nil:
		return auth.Namespaces{}, Forbidden(identity, attributes, "")
	case access.SpansNamespaces():
		return r.authorizer.Namespaces(ctx, identity, attributes)
	}
	decision, err := r.authorizer.Authorize(ctx, identity, attributes)
	if err == nil && !decision.Allowed {
		err = Forbidden(identity, attributes, decision.Reason)
	}
	return auth.Namespaces{All: err == nil}, err
}

// ListsAll reports whether a caller can list all objects of a resource. It makes one review at
// most.
func (r Permissions) ListsAll(ctx context.Context, identity auth.Identity, resource informerhub.Resource) (bool, error) {
	switch {
	case identity.IsKubeconfigUser():
		return true, nil
	case r.authorizer == nil:
		return false, nil
	}
	decision, err := r.authorizer.Authorize(ctx, identity, ToList(resource, "", "").Attributes("list"))
	return decision.Allowed && err == nil, err
}

// intersect returns the intersection of two sets of namespaces.
func intersect(a, b auth.Namespaces) auth.Namespaces {
	switch {
	case a.All:
		return b
	case b.All:
		return a
	}
	var names []string
	for _, name := range a.Names {
		if b.Contains(name) {
			names = append(names, name)
		}
	}
	return auth.Namespaces{Names: names}
}

// Covers reports whether set contains all namespaces of other. Only All covers All: a list of all namespaces that exist
// does not, because another namespace can be created.
func Covers(set, other auth.Namespaces) bool {
	if set.All || other.All {
		return set.All
	}
	return len(intersect(set, other).Names) == len(other.Names)
}

// Restriction returns the scope as the namespaces of a selection: nil is no restriction, and an empty list selects nothing.
// The two must not be confused, because a caller without a namespace would then read all of them.
func Restriction(scope auth.Namespaces) []string {
	switch {
	case scope.All:
		return nil
	case scope.Names == nil:
		return []string{}
	}
	return scope.Names
}

// Forbidden returns an error with the API server's own message, which is the same whether the
// object exists or not.
func Forbidden(identity auth.Identity, attributes auth.Attributes, reason string) error {
	resource := attributes.Resource
	if attributes.Subresource != "" {
		resource += "/" + attributes.Subresource
	}
	text := fmt.Sprintf("User %q cannot %s resource %q in API group %q", identity.Username, attributes.Verb, resource, attributes.Group)
	if attributes.Namespace != "" {
		text += fmt.Sprintf(" in the namespace %q", attributes.Namespace)
	} else {
		text += " at the cluster scope"
	}
	if reason != "" {
		text += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: attributes.Group, Resource: attributes.Resource}, attributes.Name, errors.New(text))
}

// PodLogs is the resource that the permission for a log names.
var PodLogs = informerhub.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}

// ToGetLog returns the read of a pod's log.
func ToGetLog(namespace, name string) Request {
	return ToGetSubresource(PodLogs, namespace, name, "log")
}

// ToGetSubresource returns the read of a subresource of one object.
func ToGetSubresource(resource informerhub.Resource, namespace, name, subresource string) Request {
	access := ToGet(resource, namespace, name)
	access.subresource = subresource
	return access
}

// Decide returns the decision on one request of an identity. Without an authorizer, the request is denied.
func (r Permissions) Decide(ctx context.Context, identity auth.Identity, attributes auth.Attributes) (auth.Decision, error) {
	if r.authorizer == nil {
		return auth.Decision{}, nil
	}
	return r.authorizer.Authorize(ctx, identity, attributes)
}

// maxNamedNamespaces bounds the namespaces that a warning names. The response's own list is
// complete: 16,000 of the longest names fit in addition to a page.
const maxNamedNamespaces = 20

// Coverage returns the namespaces that a response covers, and the warning that it covers no
// others. Both are empty if the response is complete. Neither contains anything about namespaces
// that the caller cannot read, not even their number.
func Coverage(access Request, scope auth.Namespaces) (namespaces, warnings []string) {
	if scope.Selected != "" {
		warnings = append(warnings, fmt.Sprintf("the answer covers the %s that match %s: the service caches no others; read them with consistency LATEST",
			access.Resource.GroupResource(), scope.Selected))
	}
	if scope.All {
		return nil, warnings
	}
	named, more := scope.Names, ""
	if len(named) > maxNamedNamespaces {
		named, more = named[:maxNamedNamespaces], fmt.Sprintf(" and %d more", len(named)-maxNamedNamespaces)
	}
	if scope.Uncached {
		return scope.Names, append(warnings, fmt.Sprintf("the answer covers %d of the cluster's namespaces: %s%s; the service does not cache %s in others that you may list: "+
			"name one of them to read it at the API server", len(scope.Names), strings.Join(named, ", "), more, access.Resource.GroupResource()))
	}
	needed := fmt.Sprintf("%s %s", strings.Join(access.verbs, " and "), access.Resource.GroupResource())
	if access.also != nil {
		needed += " and get their logs"
	}
	warning := fmt.Sprintf("the answer covers %d of the cluster's namespaces: %s%s; you may not %s in the others",
		len(scope.Names), strings.Join(named, ", "), more, needed)
	return scope.Names, append(warnings, warning)
}

// collectionVerbs are the verbs of requests without an object's name in their path, even if a field
// selector selects a name.
var collectionVerbs = []string{"list", "watch", "create", "deletecollection"}

// RequestNamespace returns the namespace that the API server authorizes a request in: a request for
// one Namespace is a request in that namespace, although Namespaces are cluster-scoped. So a Role
// can allow it, and an authorizer that denies access to a namespace denies it.
func RequestNamespace(resource informerhub.Resource, verb, namespace, name string) string {
	if resource.Group == "" && resource.Name == "namespaces" && name != "" && !slices.Contains(collectionVerbs, verb) {
		return name
	}
	return namespace
}
