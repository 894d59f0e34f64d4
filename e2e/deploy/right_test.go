package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// right is the least that a rule can grant, in one namespace or of one name if these
// are not empty.
type right struct{ group, resource, verb, namespace, name string }

func (r right) String() string { return strings.TrimSpace(r.verb + " " + r.resource + " " + r.name) }

// refusal is in what the API server says to an account that does not have the right.
func (r right) refusal() string { return fmt.Sprintf("cannot %s resource %q", r.verb, r.resource) }

func (r right) attributes() *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	return &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource, Namespace: r.namespace, Name: r.name}
}

func (r right) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
}

// readsTheClientCA is what the role is for that the chart binds in kube-system; it is
// there in every cluster.
var readsTheClientCA = right{resource: "configmaps", verb: "get", namespace: "kube-system", name: "extension-apiserver-authentication"}

func bindsTheClientCA(one manifest) bool { return one.GetKind() == "RoleBinding" }

// rightsOf are the rights of the service account.
func rightsOf(t *testing.T, all []manifest) (rights []right) {
	t.Helper()
	for _, role := range ofKind[rbacv1.ClusterRole](t, all, "ClusterRole") {
		rights = append(rights, rightsIn(role)...)
	}
	if slices.ContainsFunc(all, bindsTheClientCA) {
		rights = append(rights, readsTheClientCA)
	}
	return rights
}

// rightsIn are the rights that a role grants.
func rightsIn(role *rbacv1.ClusterRole) (rights []right) {
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, right{group: group, resource: resource, verb: verb})
				}
			}
		}
	}
	return rights
}

// without takes a right away, and answers the manifests that are left.
func without(t *testing.T, all []manifest, taken right) []manifest {
	t.Helper()
	for _, one := range all {
		if one.GetKind() == "ClusterRole" {
			takeFrom(t, one, taken)
		}
	}
	return slices.DeleteFunc(all, func(one manifest) bool { return bindsTheClientCA(one) && taken == readsTheClientCA })
}

func takeFrom(t *testing.T, from manifest, taken right) {
	t.Helper()
	role := into[rbacv1.ClusterRole](t, from)
	granted := slices.DeleteFunc(rightsIn(role), func(r right) bool { return r == taken })
	role.Rules = nil
	for _, right := range granted {
		role.Rules = append(role.Rules, right.rule())
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(role)
	succeeds(t, err)
	from.Object = object
}
