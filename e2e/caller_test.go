package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// account is a service account, initially without permissions.
type account struct {
	ctx       context.Context
	t         *testing.T
	namespace string
	name      string
}

func newAccount(ctx context.Context, t *testing.T, namespace, name string) account {
	t.Helper()
	created := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := cluster(t).Client.CoreV1().ServiceAccounts(namespace).Create(ctx, created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return account{ctx, t, namespace, name}
}

// user returns the cluster's user name of the account.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// token creates a token of the account.
func (a account) token() string {
	a.t.Helper()
	return a.tokenFor(authenticationv1.TokenRequestSpec{})
}

// tokenFor creates a token of the account with a given specification.
func (a account) tokenFor(purpose authenticationv1.TokenRequestSpec) string {
	a.t.Helper()
	request, err := cluster(a.t).Client.CoreV1().ServiceAccounts(a.namespace).CreateToken(a.ctx, a.name, &authenticationv1.TokenRequest{Spec: purpose}, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return request.Status.Token
}

// expiringToken signs a token of the account that expires at a given time, which may be in the
// past: the API server itself creates no token that expires within ten minutes.
func (a account) expiringToken(expires time.Time) string {
	a.t.Helper()
	parts := strings.Split(a.token(), ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		a.t.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(payload, &claims); err != nil {
		a.t.Fatal(err)
	}
	issued := expires.Add(-time.Hour).Unix()
	claims["iat"], claims["nbf"], claims["exp"] = issued, issued, expires.Unix()
	if payload, err = json.Marshal(claims); err != nil {
		a.t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signatureOf(a.t, signed))
}

// signatureOf returns the cluster's signature of a token, in the format of ES256 (RFC 7518).
func signatureOf(t *testing.T, signed string) []byte {
	t.Helper()
	key, err := keyutil.PrivateKeyFromFile(cluster(t).PKI("sa.key"))
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

// calling returns clients that authenticate as the account.
func (a account) calling(service *harness.Service, protocol harness.Protocol) harness.Clients {
	a.t.Helper()
	return callingWith(a.t, service, protocol, a.token())
}

func callingWith(t *testing.T, service *harness.Service, protocol harness.Protocol, token string) harness.Clients {
	return callingWithHeaders(t, service, protocol, http.Header{"Authorization": {"Bearer " + token}})
}

func callingWithHeaders(t *testing.T, service *harness.Service, protocol harness.Protocol, headers http.Header) harness.Clients {
	httpClient := harness.HTTP2(t)
	httpClient.Transport = sending{headers: headers, base: httpClient.Transport}
	return harness.Dial(httpClient, service.Address, protocol)
}

// grantIn grants the account permissions in a namespace, with a role and a binding of one name.
func (a account) grantIn(namespace, role string, rules ...rbacv1.PolicyRule) {
	a.t.Helper()
	grant(a.ctx, a.t, namespace, role, a.subject(), rules...)
}

func (a account) subject() rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: a.name}
}

func grant(ctx context.Context, t *testing.T, namespace, role string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	t.Helper()
	created := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules}
	if _, err := cluster(t).Client.RbacV1().Roles(namespace).Create(ctx, created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bind(ctx, t, namespace, role, subject)
}

// bind binds a subject to an existing role.
func bind(ctx context.Context, t *testing.T, namespace, role string, subject rbacv1.Subject) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
	if _, err := cluster(t).Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// revokeIn revokes a grant of grantIn; the role stays.
func (a account) revokeIn(namespace, role string) {
	a.t.Helper()
	revoke(a.ctx, a.t, namespace, role)
}

func revoke(ctx context.Context, t *testing.T, namespace, role string) {
	t.Helper()
	if err := cluster(t).Client.RbacV1().RoleBindings(namespace).Delete(ctx, role, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// rule returns a rule for resources of the core group.
func rule(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// startForCallers starts a service that authenticates callers with the cluster.
func startForCallers(t *testing.T, flags ...string) *harness.Service {
	t.Helper()
	return harness.StartService(t, cluster(t).Kubeconfig, append([]string{"--auth", "cluster"}, flags...)...)
}
