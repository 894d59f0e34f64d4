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

// right is the smallest permission that a rule can grant, limited to a namespace or a name if these
// are not empty.
type right struct{ group, resource, verb, namespace, name string }

func (r right) String() string { return strings.TrimSpace(r.verb + " " + r.resource + " " + r.name) }

// refusal returns a part of the API server's error for an account without the permission.
func (r right) refusal() string { return fmt.Sprintf("cannot %s resource %q", r.verb, r.resource) }

func (r right) attributes() *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	return &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource, Namespace: r.namespace, Name: r.name}
}

func (r right) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
}

// readsTheClientCA is the permission of the role in kube-system that the chart binds; every cluster
// has the role.
var readsTheClientCA = right{resource: "configmaps", verb: "get", namespace: "kube-system", name: "extension-apiserver-authentication"}

func bindsTheClientCA(one manifest) bool { return one.GetKind() == "RoleBinding" }

// rightsOf returns the permissions of the service account.
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

// rightsIn returns the permissions that a role grants.
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

// without removes a permission and returns the remaining manifests.
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
