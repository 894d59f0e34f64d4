package auth

import (
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// The tests named TestReal run against a control plane of their own, because only the API server
// shows the real behaviour of tokens, reviews and impersonation. They run like the end-to-end
// tests: with E2E=1, after `make build`.

var startReal = sync.OnceValues(func() (*harness.Cluster, error) { return harness.StartCluster() })

var realStarted atomic.Bool

func realCluster(t *testing.T) *harness.Cluster {
	t.Helper()
	if os.Getenv("E2E") != "1" {
		t.Skip("needs a control plane: E2E=1, after `make build`")
	}
	realStarted.Store(true)
	cluster, err := startReal()
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func stopCluster() {
	if !realStarted.Load() {
		return
	}
	if cluster, err := startReal(); err == nil {
		cluster.Stop()
	}
}

// counting counts the requests that create reviews.
type counting struct {
	reviews, tokens atomic.Int64
}

func (c *counting) wrap(next http.RoundTripper) http.RoundTripper {
	return transportFunc(func(r *http.Request) (*http.Response, error) {
		switch r.URL.Path {
		case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
			c.reviews.Add(1)
		case "/apis/authentication.k8s.io/v1/tokenreviews":
			c.tokens.Add(1)
		}
		return next.RoundTrip(r)
	})
}

// realFactory returns a factory whose service is a service account with rules.
func realFactory(t *testing.T, name string, count *counting, rules ...rbacv1.PolicyRule) *ClientFactory {
	t.Helper()
	cluster := realCluster(t)
	ctx := t.Context()
	_, err := cluster.Client.CoreV1().ServiceAccounts("kube-system").Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	_, err = cluster.Client.RbacV1().ClusterRoles().Create(ctx,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	must(t, err)
	bindCluster(t, cluster.Client, name, name, serviceAccount("kube-system", name))
	_, err = cluster.Client.RbacV1().RoleBindings("kube-system").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		Subjects:   []rbacv1.Subject{serviceAccount("kube-system", name)},
	}, metav1.CreateOptions{})
	must(t, err)
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = realToken(t, "kube-system", name)
	factory, err := NewClientFactory(config, count.wrap)
	must(t, err)
	return factory
}

// serviceRules are the permissions of the service in addition to rbacRules or namespaceRules.
var serviceRules = []rbacv1.PolicyRule{
	{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}},
	{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}},
	{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users", "groups", "serviceaccounts"}},
	{Verbs: []string{"impersonate"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{
		"uids", "userextras/authentication.kubernetes.io/credential-id",
		"userextras/authentication.kubernetes.io/node-name", "userextras/authentication.kubernetes.io/node-uid",
		"userextras/authentication.kubernetes.io/pod-name", "userextras/authentication.kubernetes.io/pod-uid",
	}},
}

// rbacRules allow the service to follow RBAC.
var rbacRules = append([]rbacv1.PolicyRule{
	{Verbs: []string{"list", "watch"}, APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{
		"roles", "rolebindings", "clusterroles", "clusterrolebindings",
	}},
}, serviceRules...)

// namespaceRules are for a service that is not allowed to follow RBAC.
var namespaceRules = append([]rbacv1.PolicyRule{
	{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"namespaces"}},
}, serviceRules...)

func serviceAccount(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func bindCluster(t *testing.T, client kubernetes.Interface, name, role string, subjects ...rbacv1.Subject) {
	t.Helper()
	_, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	}, metav1.CreateOptions{})
	must(t, err)
}

func bind(t *testing.T, client kubernetes.Interface, namespace, name string, role rbacv1.RoleRef, subjects ...rbacv1.Subject) {
	t.Helper()
	_, err := client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: role, Subjects: subjects,
	}, metav1.CreateOptions{})
	must(t, err)
}

func newNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
}

// eventually repeats a check until it is true, and returns how long that took.
func eventually(t *testing.T, what string, is func() bool) time.Duration {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if is() {
			return time.Since(began)
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("timed out: %s", what)
		}
	}
}
