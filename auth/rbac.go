package auth

import (
	"maps"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// named is the name of a role or binding; namespace is empty for cluster-scoped ones.
type named struct{ namespace, name string }

// rule is the stored part of a role's rule. It is immutable.
type rule struct{ verbs, groups, resources, names []string }

// binding is the stored part of a binding. It is immutable.
type binding struct {
	role     named
	subjects []subject
}

// rbac indexes the cluster's roles and bindings by subject, to find the namespaces in which a
// subject may have a permission. It decides nothing: its results are confirmed by the cluster, and
// it can be behind. Its methods are safe for concurrent use.
type rbac struct {
	changed func(...subject) // called when the permissions of subjects may have changed

	mu        sync.RWMutex // guards the fields below
	roles     map[named][]rule
	bindings  map[named]binding
	bySubject map[subject]map[named]struct{}
	byRole    map[named]map[named]struct{}
}

func newRBAC(changed func(...subject)) *rbac {
	return &rbac{
		changed:   changed,
		roles:     make(map[named][]rule),
		bindings:  make(map[named]binding),
		bySubject: make(map[subject]map[named]struct{}),
		byRole:    make(map[named]map[named]struct{}),
	}
}

// setRole stores a role; nil rules delete it.
func (r *rbac) setRole(role named, rules []rule) {
	r.mu.Lock()
	before := r.roles[role]
	if (before == nil) == (rules == nil) && slices.EqualFunc(before, rules, rule.equal) {
		r.mu.Unlock()
		return
	}
	r.roles[role] = rules
	if rules == nil {
		delete(r.roles, role)
	}
	concerned := r.boundToLocked(role)
	r.mu.Unlock()
	r.notifyChanged(concerned)
}

func (r *rbac) notifyChanged(concerned []subject) {
	if len(concerned) > 0 {
		r.changed(concerned...)
	}
}

func (a rule) equal(b rule) bool {
	return slices.Equal(a.verbs, b.verbs) && slices.Equal(a.groups, b.groups) &&
		slices.Equal(a.resources, b.resources) && slices.Equal(a.names, b.names)
}

// boundToLocked returns the subjects of all bindings to a role.
func (r *rbac) boundToLocked(role named) (subjects []subject) {
	for name := range r.byRole[role] {
		subjects = append(subjects, r.bindings[name].subjects...)
	}
	return subjects
}

// setBinding stores a binding; one without subjects deletes it.
func (r *rbac) setBinding(name named, after binding) {
	r.mu.Lock()
	before := r.bindings[name]
	if before.role == after.role && slices.Equal(before.subjects, after.subjects) {
		r.mu.Unlock()
		return
	}
	r.unlinkLocked(name, before)
	r.linkLocked(name, after)
	r.mu.Unlock()
	r.notifyChanged(slices.Concat(before.subjects, after.subjects))
}

func (r *rbac) linkLocked(name named, b binding) {
	if len(b.subjects) == 0 {
		return
	}
	r.bindings[name] = b
	link(r.byRole, b.role, name)
	for _, subject := range b.subjects {
		link(r.bySubject, subject, name)
	}
}

func (r *rbac) unlinkLocked(name named, b binding) {
	delete(r.bindings, name)
	unlink(r.byRole, b.role, name)
	for _, subject := range b.subjects {
		unlink(r.bySubject, subject, name)
	}
}

func link[K comparable](index map[K]map[named]struct{}, key K, name named) {
	if index[key] == nil {
		index[key] = make(map[named]struct{})
	}
	index[key][name] = struct{}{}
}

func unlink[K comparable](index map[K]map[named]struct{}, key K, name named) {
	delete(index[key], name)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// namespaces returns the sorted namespaces in which a binding may allow one of the subjects to
// perform an action.
func (r *rbac) namespaces(subjects []subject, attributes Attributes) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found := make(map[string]struct{})
	for _, subject := range subjects {
		for name := range r.bySubject[subject] {
			if name.namespace != "" && r.mayAllowLocked(r.bindings[name].role, attributes) {
				found[name.namespace] = struct{}{}
			}
		}
	}
	return sortedKeys(found)
}

func sortedKeys(set map[string]struct{}) []string { return slices.Sorted(maps.Keys(set)) }

// mayAllowLocked reports whether a role may allow an action. It returns true for an unknown role,
// which may exist already.
func (r *rbac) mayAllowLocked(role named, attributes Attributes) bool {
	rules, known := r.roles[role]
	return !known || slices.ContainsFunc(rules, func(rule rule) bool { return rule.allows(attributes) })
}

// allows reports whether RBAC's own authorizer would allow the action by this rule.
func (a rule) allows(attributes Attributes) bool {
	return matchesAny(a.verbs, attributes.Verb) && matchesAny(a.groups, attributes.Group) && a.allowsResource(attributes) &&
		(len(a.names) == 0 || slices.Contains(a.names, attributes.Name))
}

func (a rule) allowsResource(attributes Attributes) bool {
	if attributes.Subresource == "" {
		return matchesAny(a.resources, attributes.Resource)
	}
	return matchesAny(a.resources, attributes.Resource+"/"+attributes.Subresource) ||
		slices.Contains(a.resources, "*/"+attributes.Subresource)
}

func matchesAny(allowed []string, value string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool { return a == rbacv1.VerbAll || a == value })
}
