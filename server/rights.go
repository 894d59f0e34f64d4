package server

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// Authorizer answers what callers may do; see [auth.Authorizer].
type Authorizer interface {
	Authorize(ctx context.Context, identity auth.Identity, attributes auth.Attributes) (auth.Decision, error)
	Namespaces(ctx context.Context, identity auth.Identity, attributes auth.Attributes) (auth.Namespaces, error)
	Changed() <-chan struct{}
}

// read is what a caller wants to read: what it must have the right to.
type read struct {
	resource        informerhub.Resource
	namespace, name string
	verbs           []string // all of them
	subresource     string   // empty for the objects themselves
	// whole says that it is of all that it names, or refused: never of some namespaces.
	whole bool
}

// requiring is the read of a request that may demand all namespaces: it is refused then
// unless the caller has the permission for all of them.
func (r read) requiring(request interface{ GetRequireAllNamespaces() bool }) read {
	r.whole = r.whole || request.GetRequireAllNamespaces()
	return r
}

// toGet is a read of one object.
func toGet(resource informerhub.Resource, namespace, name string) read {
	return read{resource: resource, namespace: namespace, name: name, verbs: []string{"get"}}
}

// toList is a list's read.
func toList(resource informerhub.Resource, namespace, fieldSelector string) read {
	return read{resource: resource, namespace: namespace, name: selectedName(fieldSelector), verbs: []string{"list"}}
}

// toWatch is a watch's read. It lists as well, unless it is of one object: then
// a right to watch that name is enough. What is not cached is watched at the API server
// as the caller, which must have the right to all of it.
func toWatch(resource informerhub.Resource, namespace, name, fieldSelector string) read {
	if name == "" {
		name = selectedName(fieldSelector)
	}
	wanted := read{resource: resource, namespace: namespace, name: name, verbs: []string{"list", "watch"}, whole: !resource.Cacheable()}
	if name != "" {
		wanted.verbs = []string{"watch"}
	}
	return wanted
}

// selectedName is the one name that a field selector can select, as the API server
// reads it from there; empty if there is none.
func selectedName(fieldSelector string) string {
	selector, err := fields.ParseSelector(fieldSelector)
	if err != nil {
		return "" // refused when it is understood; until then it narrows nothing
	}
	name, _ := selector.RequiresExactMatch("metadata.name")
	return name
}

func (r read) attributes(verb string) auth.Attributes {
	return auth.Attributes{
		Verb:        verb,
		Group:       r.resource.Group,
		Version:     r.resource.Version,
		Resource:    r.resource.Name,
		Subresource: r.subresource,
		Namespace:   requestNamespace(r.resource, verb, r.namespace, r.name),
		Name:        r.name,
	}
}

// everywhere reports whether the read is over all namespaces that the caller may see.
func (r read) everywhere() bool { return r.resource.Namespaced && r.namespace == "" && !r.whole }

// rights holds reads against what the cluster says.
type rights struct {
	authorizer Authorizer // nil: nobody may but the kubeconfig's user
}

// changed is closed when an identity's rights may have changed; nil if they cannot.
func (r rights) changed(identity auth.Identity) <-chan struct{} {
	if r.authorizer == nil || identity.IsKubeconfigUser() {
		return nil
	}
	return r.authorizer.Changed()
}

// scope answers the namespaces that a read may be of, or a Forbidden error if there is
// none. A read that is of one namespace, or of a resource that has none, is allowed
// whole or not at all; All then says no more than that.
func (r rights) scope(ctx context.Context, identity auth.Identity, wanted read) (auth.Namespaces, error) {
	scope := auth.Namespaces{All: true}
	if identity.IsKubeconfigUser() {
		return scope, nil // the API server has judged by its rights already what is in memory
	}
	for _, verb := range wanted.verbs {
		allowed, err := r.allowed(ctx, identity, wanted, verb)
		if err != nil {
			return auth.Namespaces{}, err
		}
		if scope = both(scope, allowed); !scope.All && len(scope.Names) == 0 {
			return auth.Namespaces{}, forbidden(identity, wanted.attributes(verb), "")
		}
	}
	return scope, nil
}

// allowed answers the namespaces in which a caller may do one thing.
func (r rights) allowed(ctx context.Context, identity auth.Identity, wanted read, verb string) (auth.Namespaces, error) {
	attributes := wanted.attributes(verb)
	switch {
	case r.authorizer == nil:
		return auth.Namespaces{}, forbidden(identity, attributes, "")
	case wanted.everywhere():
		return r.authorizer.Namespaces(ctx, identity, attributes)
	}
	decision, err := r.authorizer.Authorize(ctx, identity, attributes)
	if err == nil && !decision.Allowed {
		err = forbidden(identity, attributes, decision.Reason)
	}
	return auth.Namespaces{All: err == nil}, err
}

// listsAll answers whether a caller may list all objects of a resource, by one question.
func (r rights) listsAll(ctx context.Context, identity auth.Identity, resource informerhub.Resource) (bool, error) {
	switch {
	case identity.IsKubeconfigUser():
		return true, nil
	case r.authorizer == nil:
		return false, nil
	}
	decision, err := r.authorizer.Authorize(ctx, identity, toList(resource, "", "").attributes("list"))
	return decision.Allowed && err == nil, err
}

// both are the namespaces that are in two sets.
func both(a, b auth.Namespaces) auth.Namespaces {
	switch {
	case a.All:
		return b
	case b.All:
		return a
	}
	var names []string
	for _, name := range a.Names {
		if b.Contain(name) {
			names = append(names, name)
		}
	}
	return auth.Namespaces{Names: names}
}

// covers reports whether one set of namespaces has all that another has.
func covers(set, other auth.Namespaces) bool {
	if set.All || other.All {
		return set.All
	}
	return len(both(set, other).Names) == len(other.Names)
}

// restriction is the scope of a selection.
func restriction(scope auth.Namespaces) []string {
	switch {
	case scope.All:
		return nil
	case scope.Names == nil:
		return []string{}
	}
	return scope.Names
}

// forbidden is a refusal in the API server's own words, which are the same whether the
// object exists or not.
func forbidden(identity auth.Identity, attributes auth.Attributes, reason string) error {
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
