package auth

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"
)

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
		switch mirror.waitSettled(ctx) {
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
	return !slices.ContainsFunc(m.rbac, func(m *mirror) bool { return !m.hasFollowed(from) })
}
