package e2e_test

import (
	"context"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// account is a service account without rights, until it is given some.
type account struct {
	ctx       context.Context
	t         *testing.T
	namespace string
	name      string
}

func newAccount(ctx context.Context, t *testing.T, namespace, name string) account {
	t.Helper()
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := cluster(t).Client.CoreV1().ServiceAccounts(namespace).Create(ctx, made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return account{ctx, t, namespace, name}
}

// user is the name that the cluster knows the account by.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// token is a new one of the account's.
func (a account) token() string {
	a.t.Helper()
	request, err := cluster(a.t).Client.CoreV1().ServiceAccounts(a.namespace).CreateToken(a.ctx, a.name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return request.Status.Token
}

// calling are clients that call as the account.
func (a account) calling(service *harness.Service, protocol harness.Protocol) harness.Clients {
	a.t.Helper()
	return callingWith(a.t, service, protocol, a.token())
}

func callingWith(t *testing.T, service *harness.Service, protocol harness.Protocol, token string) harness.Clients {
	httpClient := harness.HTTP2(t)
	httpClient.Transport = sending{headers: http.Header{"Authorization": {"Bearer " + token}}, over: httpClient.Transport}
	return harness.Dial(httpClient, service.Address, protocol)
}

// may grants the account something in a namespace, by a role and a binding of one name.
func (a account) may(namespace, role string, rules ...rbacv1.PolicyRule) {
	a.t.Helper()
	made := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules}
	if _, err := cluster(a.t).Client.RbacV1().Roles(namespace).Create(a.ctx, made, metav1.CreateOptions{}); err != nil {
		a.t.Fatal(err)
	}
	a.bind(namespace, role)
}

// bind gives the account a role that there is.
func (a account) bind(namespace, role string) {
	a.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: a.name}},
	}
	if _, err := cluster(a.t).Client.RbacV1().RoleBindings(namespace).Create(a.ctx, binding, metav1.CreateOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

// mayNoMore revokes what may has granted; the role stays.
func (a account) mayNoMore(namespace, role string) {
	a.t.Helper()
	if err := cluster(a.t).Client.RbacV1().RoleBindings(namespace).Delete(a.ctx, role, metav1.DeleteOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

// to is a rule about resources of the core group.
func to(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// startForCallers starts a service that callers are authenticated by.
func startForCallers(t *testing.T, flags ...string) *harness.Service {
	t.Helper()
	return harness.StartService(t, cluster(t).Kubeconfig, append([]string{"--auth", "cluster"}, flags...)...)
}
