package permissions_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// permissionWorld holds the callers' permissions for a while.
type permissionWorld struct {
	number  int
	grants  []permissionGrant
	denials []denial
}

// permissionGrant is a role and a binding of it.
type permissionGrant struct {
	namespace string // namespace of the binding; empty for a ClusterRoleBinding
	ofCluster bool   // whether the role is a ClusterRole
	roles     permissionRoles
}

// aggregated is the inverse of the share of ClusterRoles whose rules are aggregated from another
// one.
const aggregated = 4

// permissionRoles holds rules that subjects get under one name.
type permissionRoles struct {
	stage    *permissionStage
	name     string
	rules    []rbacv1.PolicyRule
	subjects []rbacv1.Subject
	// aggregated reports whether the ClusterRole aggregates the rules of another one.
	aggregated bool
}

func newPermissionRoles(s *permissionStage, name string, rules []rbacv1.PolicyRule, subjects []rbacv1.Subject) permissionRoles {
	return permissionRoles{stage: s, name: s.label + "-" + name, rules: rules, subjects: subjects}
}

// named restricts the rules to objects with a name.
func (r permissionRoles) named(name string) permissionRoles {
	for i := range r.rules {
		r.rules[i].ResourceNames = []string{name}
	}
	return r
}

// newPermissionWorld chooses permissions at random.
func newPermissionWorld(s *permissionStage, rnd *rand.Rand, number int) *permissionWorld {
	w := &permissionWorld{number: number}
	for i := range 6 + rnd.IntN(10) {
		grant := permissionGrant{namespace: pick(rnd, s.namespaces), ofCluster: rnd.IntN(3) == 0}
		if rnd.IntN(3) == 0 {
			grant.namespace, grant.ofCluster = "", true
		}
		grant.roles = newPermissionRoles(s, fmt.Sprint("grant-", i), s.randomRules(rnd), s.randomSubjects(rnd))
		grant.roles.aggregated = grant.ofCluster && rnd.IntN(aggregated) == 0
		w.grants = append(w.grants, grant)
	}
	if s.webhook != nil {
		w.grants[0].namespace, w.grants[0].ofCluster = "", true
		w.grants[0].roles.rules = []rbacv1.PolicyRule{{APIGroups: []string{rbacv1.APIGroupAll}, Resources: []string{rbacv1.ResourceAll}, Verbs: readVerbs}}
		for range 3 + rnd.IntN(8) {
			w.denials = append(w.denials, s.randomDenial(rnd))
		}
	}
	return w
}

func pick[T any](rnd *rand.Rand, from []T) T { return from[rnd.IntN(len(from))] }

// some returns between one and count of the elements.
func some[T any](rnd *rand.Rand, count int, from []T) (chosen []T) {
	for _, i := range rnd.Perm(len(from))[:1+rnd.IntN(min(count, len(from)))] {
		chosen = append(chosen, from[i])
	}
	return chosen
}

// readVerbs are the verbs for reading.
var readVerbs = []string{"get", "list", "watch"}

// replace turns the permissions of the previous world into those of this one. Roles of the same
// name are changed, so that each kind of change occurs.
func (w *permissionWorld) replace(s *permissionStage, before *permissionWorld) {
	s.t.Helper()
	s.removeBindings()
	kept := map[string]bool{}
	for _, grant := range w.grants {
		kept[grant.roleKey()] = true
		kept[grant.roleKey()+partSuffix] = true
	}
	if before != nil {
		s.removeRoles(kept)
	}
	for _, grant := range w.grants {
		grant.create()
	}
}

func (g permissionGrant) roleKey() string {
	if g.ofCluster {
		return g.roles.name
	}
	return g.namespace + "/" + g.roles.name
}

func (g permissionGrant) create() {
	g.roles.stage.t.Helper()
	if g.ofCluster && g.namespace != "" {
		g.roles.putClusterRole()
		g.roles.bindIn(g.namespace, "ClusterRole")
		return
	}
	g.roles.create(g.namespace)
}

// create creates a role and a binding in the namespace, or in the cluster.
func (r permissionRoles) create(namespace string) {
	r.stage.t.Helper()
	if namespace == "" {
		r.putClusterRole()
		r.bindInCluster()
		return
	}
	r.putRole(namespace)
	r.bindIn(namespace, "Role")
}

func (r permissionRoles) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: r.name, Labels: kit.Labels{ownLabel: r.stage.label}}
}

func (r permissionRoles) putRole(namespace string) {
	r.stage.t.Helper()
	role, api := &rbacv1.Role{ObjectMeta: r.meta(), Rules: r.rules}, r.stage.controlPlane.Client.RbacV1().Roles(namespace)
	_, err := api.Create(r.stage.ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = api.Update(r.stage.ctx, role, metav1.UpdateOptions{})
	}
	r.must(err)
}

// partSuffix is the name suffix of a ClusterRole whose rules another one aggregates.
const partSuffix = "-part"

func (r permissionRoles) putClusterRole() {
	r.stage.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: r.meta(), Rules: r.rules}
	if !r.aggregated {
		r.put(role)
		return
	}
	part := role.DeepCopy()
	part.Name += partSuffix
	part.Labels["part-of"] = r.name
	r.put(part)
	role.Rules, role.AggregationRule = nil, &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: kit.Labels{"part-of": r.name}}}}
	r.put(role)
	kit.Eventually(r.stage.ctx, r.stage.t, "the rules are aggregated", func() error {
		now, err := r.stage.controlPlane.Client.RbacV1().ClusterRoles().Get(r.stage.ctx, r.name, metav1.GetOptions{})
		if err == nil && !equality.Semantic.DeepEqual(now.Rules, r.rules) {
			err = fmt.Errorf("rules of %s: %v, want %v", r.name, now.Rules, r.rules)
		}
		return err
	})
}

func (r permissionRoles) put(role *rbacv1.ClusterRole) {
	r.stage.t.Helper()
	api := r.stage.controlPlane.Client.RbacV1().ClusterRoles()
	_, err := api.Create(r.stage.ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = api.Update(r.stage.ctx, role, metav1.UpdateOptions{})
	}
	r.must(err)
}

func (r permissionRoles) ref(kind string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: r.name}
}

func (r permissionRoles) bindIn(namespace, kind string) {
	r.stage.t.Helper()
	binding := &rbacv1.RoleBinding{ObjectMeta: r.meta(), RoleRef: r.ref(kind), Subjects: r.subjects}
	_, err := r.stage.controlPlane.Client.RbacV1().RoleBindings(namespace).Create(r.stage.ctx, binding, metav1.CreateOptions{})
	r.must(err)
}

func (r permissionRoles) bindInCluster() {
	r.stage.t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: r.meta(), RoleRef: r.ref("ClusterRole"), Subjects: r.subjects}
	_, err := r.stage.controlPlane.Client.RbacV1().ClusterRoleBindings().Create(r.stage.ctx, binding, metav1.CreateOptions{})
	r.must(err)
}

func (r permissionRoles) must(err error) {
	r.stage.t.Helper()
	if err != nil {
		r.stage.t.Fatal(err)
	}
}

// describe returns the permissions in a world that may matter to a caller.
func (w *permissionWorld) describe(caller *permissionCaller) string {
	var text strings.Builder
	for _, grant := range w.grants {
		if slices.ContainsFunc(grant.roles.subjects, func(subject rbacv1.Subject) bool { return slices.Contains(caller.subjects, subject) }) {
			fmt.Fprintf(&text, "  granted in %q: %v\n", grant.namespace, grant.roles.rules)
		}
	}
	for _, denial := range w.denials {
		if denial.user == "" || denial.user == caller.name {
			fmt.Fprintf(&text, "  denied: %+v\n", denial)
		}
	}
	return text.String()
}

func (s *permissionStage) randomSubjects(rnd *rand.Rand) (subjects []rbacv1.Subject) {
	for _, caller := range some(rnd, 2, s.callers) {
		subjects = append(subjects, pick(rnd, caller.subjects))
	}
	return subjects
}

func (s *permissionStage) randomRules(rnd *rand.Rand) (rules []rbacv1.PolicyRule) {
	for range 1 + rnd.IntN(2) {
		rule := rbacv1.PolicyRule{Verbs: some(rnd, 3, readVerbs)}
		if rnd.IntN(4) == 0 {
			rule.Verbs = []string{rbacv1.VerbAll}
		}
		kinds := some(rnd, 3, s.kinds)
		for _, kind := range kinds {
			rule.APIGroups = append(rule.APIGroups, kind.Group)
			rule.Resources = append(rule.Resources, kind.Resource)
		}
		switch rnd.IntN(8) {
		case 0:
			rule.Resources = []string{rbacv1.ResourceAll}
		case 1:
			rule.APIGroups = []string{rbacv1.APIGroupAll}
		}
		if rnd.IntN(3) == 0 {
			rule.ResourceNames = some(rnd, 2, pick(rnd, kinds).names)
		}
		rules = append(rules, rule)
	}
	if len(rules) == 2 && equality.Semantic.DeepEqual(rules[0], rules[1]) {
		return rules[:1] // as an aggregated ClusterRole has them
	}
	return rules
}

func (s *permissionStage) own() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: ownLabel + "=" + s.label}
}

// removeBindings deletes all bindings of the stage.
func (s *permissionStage) removeBindings() {
	s.t.Helper()
	for _, namespace := range s.namespaces {
		if err := s.controlPlane.Client.RbacV1().RoleBindings(namespace).DeleteCollection(s.ctx, metav1.DeleteOptions{}, s.own()); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.controlPlane.Client.RbacV1().ClusterRoleBindings().DeleteCollection(s.ctx, metav1.DeleteOptions{}, s.own()); err != nil {
		s.t.Fatal(err)
	}
}

// removeRoles deletes the roles of the stage, except those in kept.
func (s *permissionStage) removeRoles(kept map[string]bool) {
	s.t.Helper()
	api := s.controlPlane.Client.RbacV1()
	roles, err := api.Roles(metav1.NamespaceAll).List(s.ctx, s.own())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, role := range roles.Items {
		if !kept[role.Namespace+"/"+role.Name] {
			err = api.Roles(role.Namespace).Delete(s.ctx, role.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	ofCluster, err := api.ClusterRoles().List(s.ctx, s.own())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, role := range ofCluster.Items {
		if !kept[role.Name] {
			err = api.ClusterRoles().Delete(s.ctx, role.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}
