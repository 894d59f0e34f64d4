package preflight

import (
	"bytes"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/yaml"
)

// The role of every cluster that permits reading the authorities of client certificates.
const (
	authoritiesNamespace = "kube-system"
	authoritiesConfigMap = "extension-apiserver-authentication"
	authoritiesRole      = "extension-apiserver-authentication-reader"
)

// Grant returns a command that grants permissions to a user. It can be run again: it adds to the role of
// an earlier one. The permissions of several results are granted by one command.
func Grant(user string, missing ...*Permissions) string {
	var all Permissions
	for _, permissions := range missing {
		all.Rules = append(all.Rules, permissions.Rules...)
		all.ClientAuthorities = all.ClientAuthorities || permissions.ClientAuthorities
	}
	all.Rules = compact(all.Rules)
	var text bytes.Buffer
	text.WriteString("kubectl auth reconcile -f - <<'EOF'\n")
	for i, object := range all.objects(user) {
		document, err := yaml.Marshal(object)
		if err != nil {
			panic(err) // objects without maps of other types can always be encoded
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(document)
	}
	text.WriteString("EOF\n")
	return text.String()
}

// objects returns the roles and bindings that grant permissions to a user.
func (p Permissions) objects(user string) (objects []any) {
	name, subject := nameFor(user), subjectOf(user)
	if len(p.Rules) > 0 {
		objects = append(objects, &rbacv1.ClusterRole{
			TypeMeta:   rbacType("ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules:      p.Rules,
		}, &rbacv1.ClusterRoleBinding{
			TypeMeta:   rbacType("ClusterRoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{subject},
		})
	}
	if p.ClientAuthorities {
		objects = append(objects, &rbacv1.RoleBinding{
			TypeMeta:   rbacType("RoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Namespace: authoritiesNamespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: authoritiesRole},
			Subjects:   []rbacv1.Subject{subject},
		})
	}
	return objects
}

func rbacType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// nameFor returns the name of a user's role.
func nameFor(user string) string {
	name := strings.TrimPrefix(user, serviceaccount.ServiceAccountUsernamePrefix)
	return "kubeconnect-check-" + strings.Map(func(r rune) rune {
		if strings.ContainsRune("/%: \t\n", r) {
			return '-'
		}
		return r
	}, name)
}

func subjectOf(user string) rbacv1.Subject {
	if namespace, name, err := serviceaccount.SplitUsername(user); err == nil {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}
}
