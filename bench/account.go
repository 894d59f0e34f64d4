package main

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// account is a service account that callers use. It has no permissions until a role is bound to it.
type account struct{ name, token string }

// accountsNamespace is the namespace of the service accounts.
const accountsNamespace = emptyNamespace

// account creates a service account, or uses the existing one, and requests a token for it.
func (c *controlPlane) account(ctx context.Context, name string) (account, error) {
	accounts := c.client.CoreV1().ServiceAccounts(accountsNamespace)
	manifest := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := accounts.Create(ctx, manifest, metav1.CreateOptions{})
	if err := ignoreExists(err); err != nil {
		return account{}, err
	}
	request, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return account{}, err
	}
	return account{name, request.Status.Token}, nil
}

func (a account) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: accountsNamespace, Name: a.name}}
}

// podReader is the role that is bound to accounts.
var podReader = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "bench-pod-reader"}

func (c *controlPlane) createPodReader(ctx context.Context) error {
	_, err := c.client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: podReader.Name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"},
		}},
	}, metav1.CreateOptions{})
	return ignoreExists(err)
}

// readerEverywhere creates an account that is allowed to read pods in all namespaces.
func (c *controlPlane) readerEverywhere(ctx context.Context) (account, error) {
	a, err := c.account(ctx, "everywhere")
	if err != nil {
		return account{}, err
	}
	if err := c.createPodReader(ctx); err != nil {
		return account{}, err
	}
	_, err = c.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-" + a.name}, RoleRef: podReader, Subjects: a.subjects(),
	}, metav1.CreateOptions{})
	return a, ignoreExists(err)
}

// readerOf creates an account that is allowed to read pods in the given namespaces.
func (c *controlPlane) readerOf(ctx context.Context, name string, namespaces ...string) (account, error) {
	a, err := c.account(ctx, name)
	if err != nil {
		return account{}, err
	}
	if err := c.createPodReader(ctx); err != nil {
		return account{}, err
	}
	for _, namespace := range namespaces {
		_, err := c.client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: a.name}, RoleRef: podReader, Subjects: a.subjects(),
		}, metav1.CreateOptions{})
		if err := ignoreExists(err); err != nil {
			return account{}, err
		}
	}
	return a, nil
}

// revoke deletes the binding that allows an account to read pods in a namespace.
func (c *controlPlane) revoke(ctx context.Context, a account, namespace string) error {
	return c.client.RbacV1().RoleBindings(namespace).Delete(ctx, a.name, metav1.DeleteOptions{})
}
