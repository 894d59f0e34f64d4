package kit

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// Account is a service account, initially without permissions.
type Account struct {
	Ctx       context.Context
	T         *testing.T
	Namespace string
	Name      string
}

// NewAccount creates a service account, which exists until its namespace is deleted.
func NewAccount(ctx context.Context, t *testing.T, namespace, name string) Account {
	t.Helper()
	created := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := Cluster(t).Client.CoreV1().ServiceAccounts(namespace).Create(ctx, created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return Account{ctx, t, namespace, name}
}

// User returns the cluster's user name of the account.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// Token creates a token of the account.
func (a Account) Token() string {
	a.T.Helper()
	return a.TokenFor(authenticationv1.TokenRequestSpec{})
}

// Kubeconfig writes a kubeconfig with a token of the account, and returns its path.
func (a Account) Kubeconfig() string {
	a.T.Helper()
	return KubeconfigWithToken(a.T, a.Token())
}

// KubeconfigWithToken writes the kubeconfig of the cluster with a token instead of its credentials, and returns its path.
func KubeconfigWithToken(t *testing.T, token string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(Cluster(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TokenFor creates a token of the account with a given specification.
func (a Account) TokenFor(purpose authenticationv1.TokenRequestSpec) string {
	a.T.Helper()
	request, err := Cluster(a.T).Client.CoreV1().ServiceAccounts(a.Namespace).CreateToken(a.Ctx, a.Name, &authenticationv1.TokenRequest{Spec: purpose}, metav1.CreateOptions{})
	if err != nil {
		a.T.Fatal(err)
	}
	return request.Status.Token
}

// ExpiringToken signs a token of the account that expires at a given time, which may be in the
// past: the API server itself creates no token that expires within ten minutes.
func (a Account) ExpiringToken(expires time.Time) string {
	a.T.Helper()
	parts := strings.Split(a.Token(), ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		a.T.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(payload, &claims); err != nil {
		a.T.Fatal(err)
	}
	issued := expires.Add(-time.Hour).Unix()
	claims["iat"], claims["nbf"], claims["exp"] = issued, issued, expires.Unix()
	if payload, err = json.Marshal(claims); err != nil {
		a.T.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signatureOf(a.T, signed))
}

// signatureOf returns the cluster's signature of a token, in the format of ES256 (RFC 7518).
func signatureOf(t *testing.T, signed string) []byte {
	t.Helper()
	key, err := keyutil.PrivateKeyFromFile(Cluster(t).PKI("sa.key"))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signature
}

// Calling returns clients that authenticate as the account.
func (a Account) Calling(service *harness.Service, protocol harness.Protocol) harness.Clients {
	a.T.Helper()
	return CallingWith(a.T, service, protocol, a.Token())
}

// CallingWith returns clients of a service that send a bearer token.
func CallingWith(t *testing.T, service *harness.Service, protocol harness.Protocol, token string) harness.Clients {
	return CallingWithHeaders(t, service, protocol, http.Header{"Authorization": {"Bearer " + token}})
}

// CallingWithHeaders returns clients of a service that send headers with each call.
func CallingWithHeaders(t *testing.T, service *harness.Service, protocol harness.Protocol, headers http.Header) harness.Clients {
	httpClient := harness.HTTP2(t)
	httpClient.Transport = HeaderTransport{Headers: headers, Base: httpClient.Transport}
	return harness.Dial(httpClient, service.Address, protocol)
}

// GrantIn grants the account permissions in a namespace, with a role and a binding of one name.
func (a Account) GrantIn(namespace, role string, rules ...rbacv1.PolicyRule) {
	a.T.Helper()
	Grant(a.Ctx, a.T, namespace, role, a.Subject(), rules...)
}

func (a Account) Subject() rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace, Name: a.Name}
}

// Grant creates a role with these rules in a namespace and binds it to a subject.
func Grant(ctx context.Context, t *testing.T, namespace, role string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	t.Helper()
	created := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules}
	if _, err := Cluster(t).Client.RbacV1().Roles(namespace).Create(ctx, created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	Bind(ctx, t, namespace, role, subject)
}

// Bind binds a subject to an existing role.
func Bind(ctx context.Context, t *testing.T, namespace, role string, subject rbacv1.Subject) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
	if _, err := Cluster(t).Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// RevokeIn revokes a grant of GrantIn; the role stays.
func (a Account) RevokeIn(namespace, role string) {
	a.T.Helper()
	Revoke(a.Ctx, a.T, namespace, role)
}

// Revoke deletes a role that Grant created, and its binding.
func Revoke(ctx context.Context, t *testing.T, namespace, role string) {
	t.Helper()
	if err := Cluster(t).Client.RbacV1().RoleBindings(namespace).Delete(ctx, role, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Rule returns a rule for resources of the core group.
func Rule(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// StartForCallers starts a service that authenticates callers with the cluster.
func StartForCallers(t *testing.T, flags ...string) *harness.Service {
	t.Helper()
	return harness.StartService(t, Cluster(t).Kubeconfig, append([]string{"--auth", "cluster"}, flags...)...)
}

// GrantEverywhere grants an account something in all namespaces, until the returned function is
// called or the test ends.
func GrantEverywhere(t *testing.T, a Account, rules ...rbacv1.PolicyRule) (revoke func()) {
	t.Helper()
	rbac := Cluster(t).Client.RbacV1()
	name := a.Namespace + "-" + a.Name
	if _, err := rbac.ClusterRoles().Create(a.Ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{a.Subject()},
	}
	if _, err := rbac.ClusterRoleBindings().Create(a.Ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	revoke = func() {
		ctx := context.WithoutCancel(a.Ctx)
		_ = rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})
	}
	t.Cleanup(revoke)
	return revoke
}

// NewToken creates a service account and returns a token of it.
func NewToken(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace, name string) string {
	t.Helper()
	accounts := controlPlane.Client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// GrantAdmin makes an account an administrator until the test ends.
func GrantAdmin(ctx context.Context, t *testing.T, account Account) {
	t.Helper()
	bindings := Cluster(t).Client.RbacV1().ClusterRoleBindings()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{account.Subject()},
	}
	created, err := bindings.Create(ctx, binding, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.Delete(context.WithoutCancel(ctx), created.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// MayReadLogs grants an account the permissions of a reader of logs.
func (a Account) MayReadLogs(namespace string) {
	a.T.Helper()
	a.GrantIn(namespace, "logs", Rule("pods/log", "get"))
}

// TokenOfAPod returns a token of the account as a pod has it: its claims name the pod.
func (a Account) TokenOfAPod() string {
	a.T.Helper()
	pod := UnscheduledPod(a.Name)
	pod.Spec.ServiceAccountName = a.Name
	created, err := Cluster(a.T).Client.CoreV1().Pods(a.Namespace).Create(a.Ctx, pod, metav1.CreateOptions{})
	if err != nil {
		a.T.Fatal(err)
	}
	return a.TokenFor(authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
		APIVersion: "v1", Kind: "Pod", Name: created.Name, UID: created.UID,
	}})
}
