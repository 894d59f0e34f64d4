package auth

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"
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

// mirrors are the mirrors of an authorizer: of RBAC, and of the namespaces' names.
type mirrors struct {
	rbac       []*mirror
	namespaces *mirror
}

func newMirrors(client kubernetes.Interface, rbac *rbac) mirrors {
	api := client.RbacV1()
	return mirrors{
		rbac: []*mirror{
			newMirror("clusterroles", api.ClusterRoles(), func(name named, role *rbacv1.ClusterRole) {
				rbac.setRole(name, rulesOf(orEmpty(role).Rules, role != nil))
			}),
			newMirror("roles", api.Roles(""), func(name named, role *rbacv1.Role) {
				rbac.setRole(name, rulesOf(orEmpty(role).Rules, role != nil))
			}),
			newMirror("clusterrolebindings", api.ClusterRoleBindings(),
				func(name named, binding *rbacv1.ClusterRoleBinding) {
					rbac.setBinding(name, bindingOf("", orEmpty(binding).RoleRef, orEmpty(binding).Subjects))
				}),
			newMirror("rolebindings", api.RoleBindings(""), func(name named, binding *rbacv1.RoleBinding) {
				rbac.setBinding(name, bindingOf(name.namespace, orEmpty(binding).RoleRef, orEmpty(binding).Subjects))
			}),
		},
		namespaces: newMirror("namespaces", client.CoreV1().Namespaces(), func(named, *corev1.Namespace) {}),
	}
}

// orEmpty returns an empty object in place of a deleted one.
func orEmpty[T any](object *T) *T {
	if object == nil {
		return new(T)
	}
	return object
}

// rulesOf returns a role's rules about resources; nil if the role was deleted.
func rulesOf(policy []rbacv1.PolicyRule, exists bool) []rule {
	if !exists {
		return nil
	}
	rules := make([]rule, 0, len(policy))
	for _, p := range policy {
		if len(p.Resources) > 0 {
			rules = append(rules, rule{p.Verbs, p.APIGroups, p.Resources, p.ResourceNames})
		}
	}
	return rules
}

// bindingOf returns a binding in a namespace, or of the cluster if the namespace is empty.
func bindingOf(namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) binding {
	b := binding{role: named{name: role.Name}}
	if role.Kind == "Role" {
		b.role.namespace = namespace
	}
	for _, s := range subjects {
		if subject, ok := subjectOf(namespace, s); ok {
			b.subjects = append(b.subjects, subject)
		}
	}
	return b
}

// subjectOf returns the subject of a binding as RBAC's own authorizer interprets it. The default
// namespace of a service account is that of the binding.
func subjectOf(namespace string, s rbacv1.Subject) (subject, bool) {
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	switch s.Kind {
	case rbacv1.UserKind:
		return subject{name: s.Name}, true
	case rbacv1.GroupKind:
		return subject{group: true, name: s.Name}, true
	case rbacv1.ServiceAccountKind:
		return subject{name: "system:serviceaccount:" + namespace + ":" + s.Name}, namespace != ""
	}
	return subject{}, false
}

// rbacKnown returns the state of all RBAC mirrors: synced if all are, refused if any is. It blocks
// while neither is known and the context is not done.
func (m mirrors) rbacKnown(ctx context.Context) mirrorState {
	state := synced
	for _, mirror := range m.rbac {
		switch mirror.follower.waitSettled(ctx) {
		case refused:
			return refused
		case pending:
			state = pending
		}
	}
	return state
}

// hasFollowedRBAC reports whether every change of RBAC since a time is known, or will be in a
// moment.
func (m mirrors) hasFollowedRBAC(from time.Time) bool {
	return !slices.ContainsFunc(m.rbac, func(m *mirror) bool { return !m.follower.hasFollowed(from) })
}

const (
	// propagationGrace is how long after a change of RBAC was seen here the API servers may still
	// decide by the old state. Their authorizers follow RBAC by watches of their own, so either
	// side can see a change first.
	propagationGrace = 5 * time.Second
	// propagationTTL is how long a decision from that time is cached, because it can be from before
	// the change.
	propagationTTL = 500 * time.Millisecond
	// stableAfter is how long after a change decisions about its subjects are not cached for
	// longer than those that do not follow from RBAC. It bounds the delay of an API server's watch.
	stableAfter = time.Minute
	// announceInterval is the minimum time between two announcements, independent of the number of
	// changes.
	announceInterval = 500 * time.Millisecond
	// maxSubjects bounds the subjects whose last change is recorded. Above that, all subjects are
	// treated as changed.
	maxSubjects = 10000
)

// reannounceDelays are the times after a change at which it is announced again, because earlier
// decisions can be from before the change.
var reannounceDelays = []time.Duration{time.Second, propagationGrace}

// subject is the user or group that a binding grants permissions to. A service account is the user
// that it acts as.
type subject struct {
	group bool
	name  string
}

// subjectsOf returns the subjects that an identity matches.
func subjectsOf(identity Identity) []subject {
	subjects := make([]subject, 0, 1+len(identity.Groups))
	subjects = append(subjects, subject{name: identity.Username})
	for _, group := range identity.Groups {
		subjects = append(subjects, subject{group: true, name: group})
	}
	return subjects
}

// changeNotifier records when the permissions of which subjects changed, and announces changes. A
// decision about a caller is valid if it was requested after the last change of the caller's
// subjects. Its methods are safe for concurrent use.
type changeNotifier struct {
	pendingNote chan struct{} // has an element when there is a change to announce

	mu               sync.RWMutex // guards the fields below
	bySubject        map[subject]time.Time
	allChanged       time.Time
	lastChange       time.Time // the time of the last change
	lastAnnounced    time.Time // the time of the last announcement
	unannounced      bool      // whether the last change has not been announced yet
	nextAnnouncement chan struct{}
}

func newChangeNotifier() *changeNotifier {
	return &changeNotifier{
		pendingNote:      make(chan struct{}, 1),
		bySubject:        make(map[subject]time.Time),
		nextAnnouncement: make(chan struct{}),
	}
}

// note records that the permissions of subjects have changed. Without subjects, it only announces
// that something else must be re-checked.
func (c *changeNotifier) note(subjects ...subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastChange, c.unannounced = time.Now(), true
	for _, subject := range subjects {
		c.bySubject[subject] = c.lastChange
	}
	if len(c.bySubject) > maxSubjects {
		c.allChanged = c.lastChange
		clear(c.bySubject)
	}
	select {
	case c.pendingNote <- struct{}{}:
	default:
	}
}

// lastOf returns the time of the last change of any of the subjects.
func (c *changeNotifier) lastOf(subjects []subject) time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	last := c.allChanged
	if len(c.bySubject) == 0 {
		return last
	}
	for _, subject := range subjects {
		if changed := c.bySubject[subject]; changed.After(last) {
			last = changed
		}
	}
	return last
}

// next returns a channel that is closed at the next announcement.
func (c *changeNotifier) next() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.nextAnnouncement
}

// run announces changes until the context is done.
func (c *changeNotifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.pendingNote:
		case <-c.due():
			c.announce()
		}
	}
}

// due returns a channel that fires when an announcement is due, or nil if none is.
func (c *changeNotifier) due() <-chan time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.unannounced {
		return time.After(time.Until(c.lastAnnounced.Add(announceInterval)))
	}
	for _, after := range reannounceDelays {
		if due := c.lastChange.Add(after); c.lastAnnounced.Before(due) && !c.lastChange.IsZero() {
			return time.After(time.Until(due))
		}
	}
	return nil
}

func (c *changeNotifier) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastAnnounced, c.unannounced = time.Now(), false
	close(c.nextAnnouncement)
	c.nextAnnouncement = make(chan struct{})
}

// ttl returns how long a decision is cached that was requested at the time requested, if the last
// change before it was at the time changed.
func ttl(usual time.Duration, requested, changed time.Time) time.Duration {
	if requested.Sub(changed) < propagationGrace {
		return min(usual, propagationTTL)
	}
	return usual
}

// followedTTL is ttl for a decision that stays valid while RBAC is followed. It subtracts a random
// part, up to half, so that decisions that were requested together do not expire together.
func followedTTL(usual time.Duration, requested, changed time.Time) time.Duration {
	if requested.Sub(changed) < stableAfter {
		return 0
	}
	return usual - rand.N(usual/2+1)
}
