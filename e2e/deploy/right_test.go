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

// right is the least that a rule can grant.
type right struct{ group, resource, verb string }

func (r right) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s.%s", r.verb, r.resource, r.group), ".")
}

func (r right) attributes() *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	return &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource}
}

func (r right) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
}

// rightsIn are the rights that a role grants.
func rightsIn(role *rbacv1.ClusterRole) (rights []right) {
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, right{group, resource, verb})
				}
			}
		}
	}
	return rights
}

// without takes a right from every role, and answers those that are left.
func without(t *testing.T, all []manifest, taken right) (left []right) {
	t.Helper()
	for _, one := range all {
		if one.GetKind() != "ClusterRole" {
			continue
		}
		role := into[rbacv1.ClusterRole](t, one)
		granted := slices.DeleteFunc(rightsIn(role), func(r right) bool { return r == taken })
		role.Rules = nil
		for _, right := range granted {
			role.Rules = append(role.Rules, right.rule())
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(role)
		succeeds(t, err)
		one.Object = object
		left = append(left, granted...)
	}
	return left
}
