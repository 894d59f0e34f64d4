package auth

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRealAuthorizer_FindsFewNamespacesWithFewReviews is about the cost of a read over all
// namespaces, and about permissions that are granted and revoked.
func TestRealAuthorizer_FindsFewNamespacesWithFewReviews(t *testing.T) {
	const many = 1000
	client := realCluster(t).Client
	var making errgroup.Group
	making.SetLimit(16)
	for i := range many {
		making.Go(func() error { newNamespace(t, client, fmt.Sprintf("many-%03d", i)); return nil })
	}
	must(t, making.Wait())
	bind(t, client, "many-007", "alice", viewRole, user("alice"))
	bind(t, client, "many-042", "alice", viewRole, user("alice"))
	alice := Identity{Username: "alice", Groups: []string{groupAuthenticated}}
	want := Namespaces{Names: []string{"many-007", "many-042"}}

	for name, rules := range map[string][]rbacv1.PolicyRule{"with RBAC": rbacRules, "without RBAC": namespaceRules} {
		t.Run(name, func(t *testing.T) {
			count := &counting{}
			account := "few"
			if name != "with RBAC" {
				account = "all"
			}
			authorizer := NewAuthorizer(realFactory(t, account, count, rules...).ForService().Typed, AuthorizerOptions{})
			running(t, authorizer.Run)
			began := time.Now()
			got, err := authorizer.Namespaces(t.Context(), alice, listPods)
			if err != nil || !got.Equal(want) {
				t.Fatalf("got %+v, %v", got, err)
			}
			t.Logf("%d reviews, %s", count.reviews.Load(), time.Since(began))
			// All namespaces, twice because the connection is new (see package startup), and the two that are bound.
			if name == "with RBAC" && count.reviews.Load() != 4 {
				t.Errorf("%d reviews", count.reviews.Load())
			}
		})
	}
}

// TestRealAuthorizer_SeesPermissionChangesAtOnce grants and revokes permissions in every way that
// RBAC supports, and authorizes as a stream does: when changes are announced.
func TestRealAuthorizer_SeesPermissionChangesAtOnce(t *testing.T) {
	client := realCluster(t).Client
	factory := realFactory(t, "changes", &counting{}, rbacRules...)
	authorizer := NewAuthorizer(factory.ForService().Typed, AuthorizerOptions{AllowedTTL: time.Hour, DeniedTTL: time.Hour})
	running(t, authorizer.Run)
	newNamespace(t, client, "living")
	bob := Identity{Username: "system:serviceaccount:living:bob", Groups: []string{"system:serviceaccounts", "crew", groupAuthenticated}}
	rbac, ctx := client.RbacV1(), t.Context()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
	}}
	living := Namespaces{Names: []string{"living"}}
	for _, step := range []struct {
		name string
		do   func() error
		want Namespaces
	}{
		{"nothing", func() error { return nil }, Namespaces{}},
		{"a binding without its role", func() error {
			bind(t, client, "living", "bob", rbacv1.RoleRef{Kind: "Role", Name: "reader"}, rbacv1.Subject{Kind: "ServiceAccount", Name: "bob"})
			return nil
		}, Namespaces{}},
		{"the role", func() error { _, err := rbac.Roles("living").Create(ctx, role, metav1.CreateOptions{}); return err }, living},
		{"a role without the verb", func() error {
			role.Rules[0].Verbs = []string{"get"}
			_, err := rbac.Roles("living").Update(ctx, role, metav1.UpdateOptions{})
			return err
		}, Namespaces{}},
		{"the verb again", func() error {
			role.Rules[0].Verbs = []string{"*"}
			_, err := rbac.Roles("living").Update(ctx, role, metav1.UpdateOptions{})
			return err
		}, living},
		{"no binding", func() error { return rbac.RoleBindings("living").Delete(ctx, "bob", metav1.DeleteOptions{}) }, Namespaces{}},
		{"a binding of the cluster to a group", func() error {
			bindCluster(t, client, "crew", "view", rbacv1.Subject{Kind: "Group", Name: "crew"})
			return nil
		}, Namespaces{All: true}},
		{"none any more", func() error { return rbac.ClusterRoleBindings().Delete(ctx, "crew", metav1.DeleteOptions{}) }, Namespaces{}},
	} {
		began := time.Now()
		must(t, step.do())
		for {
			changed := authorizer.Changed()
			got, err := authorizer.Namespaces(ctx, bob, listPods)
			must(t, err)
			if got.Equal(step.want) {
				t.Logf("%s: after %s", step.name, time.Since(began).Round(time.Millisecond))
				break
			}
			select {
			case <-changed:
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: %+v", step.name, got)
			}
		}
	}
}

func TestRealAuthorizer_ReturnsDecisionsOfTheAPIServer(t *testing.T) {
	client := realCluster(t).Client
	factory := realFactory(t, "selections", &counting{}, rbacRules...)
	authorizer := NewAuthorizer(factory.ForService().Typed, AuthorizerOptions{})
	running(t, authorizer.Run)
	newNamespace(t, client, "named")
	_, err := client.RbacV1().Roles("named").Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"one"}},
		{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"*/scale"}},
	}}, metav1.CreateOptions{})
	must(t, err)
	bind(t, client, "named", "carol", rbacv1.RoleRef{Kind: "Role", Name: "one"}, user("carol"))
	carol := Identity{Username: "carol", Groups: []string{groupAuthenticated}}
	scale := Attributes{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "named", Name: "d"}
	for name, test := range map[string]struct {
		identity   Identity
		attributes Attributes
		allowed    bool
	}{
		"one pod by name":                 {carol, Attributes{Verb: "get", Resource: "pods", Namespace: "named", Name: "one"}, true},
		"another pod":                     {carol, Attributes{Verb: "get", Resource: "pods", Namespace: "named", Name: "two"}, false},
		"one pod of another namespace":    {carol, Attributes{Verb: "get", Resource: "pods", Namespace: "default", Name: "one"}, false},
		"to list them":                    {carol, Attributes{Verb: "list", Resource: "pods", Namespace: "named"}, false},
		"a subresource":                   {carol, scale, true},
		"a path":                          {carol, Attributes{Verb: "get", Path: "/version"}, true},
		"a path that is for others":       {carol, Attributes{Verb: "get", Path: "/metrics"}, false},
		"anything, for an administrator":  {Identity{Username: "root", Groups: []string{"system:masters"}}, Attributes{Verb: "delete", Resource: "nodes"}, true},
		"as the service itself":           {Identity{own: true}, Attributes{Verb: "list", Group: rbacv1.GroupName, Resource: "roles"}, true},
		"as the service, what it may not": {Identity{own: true}, Attributes{Verb: "list", Resource: "secrets"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eventually(t, "the answer", func() bool {
				decision, err := authorizer.Authorize(t.Context(), test.identity, test.attributes)
				must(t, err)
				return decision.Allowed == test.allowed
			})
		})
	}
	got, err := authorizer.Namespaces(t.Context(), carol, scale)
	if err != nil || !slices.Equal(got.Names, []string{"named"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
