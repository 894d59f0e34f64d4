package deploy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// newCaller returns the account of a pod, with permissions only in the pod's namespace. Its token
// has all the claims that a service account's token can have.
func newCaller(ctx context.Context, t *testing.T) account {
	t.Helper()
	namespace := newNamespace(ctx, t, cluster(t), nil)
	core, meta := cluster(t).Client.CoreV1(), metav1.ObjectMeta{Name: "caller"}
	_, err := core.ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	succeeds(t, err)
	_, err = core.Pods(namespace).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		ServiceAccountName: meta.Name,
		Containers:         []corev1.Container{{Name: "c", Image: "images.example/c"}},
	}}, metav1.CreateOptions{})
	succeeds(t, err)
	succeeds(t, eventually(ctx, func() error {
		pod, err := core.Pods(namespace).Get(ctx, meta.Name, metav1.GetOptions{})
		if err == nil && pod.Spec.NodeName == "" {
			err = errors.New("the pod is not scheduled")
		}
		return err
	}))
	caller := accountOf(ctx, t, namespace, meta.Name, &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: meta.Name})
	byRole.grantTo(ctx, t, caller, namespace)
	return caller
}

// grant is a way in which RBAC grants a permission: with a role and a binding of these kinds.
type grant struct{ role, binding string }

var (
	byRole        = grant{"Role", "RoleBinding"}
	byClusterRole = grant{"ClusterRole", "RoleBinding"}
	everywhere    = grant{"ClusterRole", "ClusterRoleBinding"}
)

// grantTo grants an account permission to read and patch the ConfigMaps of a namespace, and blocks
// until the permission is effective.
func (g grant) grantTo(ctx context.Context, t *testing.T, account account, namespace string) {
	t.Helper()
	verbs := []any{"list", "watch", "patch"}
	role := rbacObject(g.role, namespace, values{
		"rules": []any{values{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": verbs}},
	})
	binding := rbacObject(g.binding, namespace, values{
		"roleRef":  values{"apiGroup": role.GroupVersionKind().Group, "kind": g.role, "name": role.GetName()},
		"subjects": []any{values{"kind": "ServiceAccount", "namespace": account.namespace, "name": account.name}},
	})
	install := newInstaller(t, cluster(t))
	succeeds(t, install.create(ctx, role))
	succeeds(t, install.create(ctx, binding))
	var rights []right
	for _, verb := range verbs {
		rights = append(rights, right{resource: "configmaps", verb: verb.(string), namespace: namespace})
	}
	succeeds(t, account.untilHas(ctx, rights))
}

// rbacObject returns an RBAC object for a namespace: in the namespace, or named after it if the
// kind is cluster-scoped.
func rbacObject(kind, namespace string, content values) manifest {
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion("rbac.authorization.k8s.io/v1")
	object.SetKind(kind)
	object.SetName("caller-" + namespace)
	if !strings.HasPrefix(kind, "Cluster") {
		object.SetNamespace(namespace)
	}
	return object
}
