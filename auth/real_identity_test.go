package auth

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509/pkix"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// realToken returns a service account's token, for audiences or the API server.
func realToken(t *testing.T, namespace, name string, audiences ...string) string {
	t.Helper()
	hour := int64(3600)
	request, err := realCluster(t).Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &hour},
	}, metav1.CreateOptions{})
	must(t, err)
	return request.Status.Token
}

// whoAmI returns the identity of a client at the API server.
func whoAmI(t *testing.T, client kubernetes.Interface) authenticationv1.UserInfo {
	t.Helper()
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(t, err)
	return review.Status.UserInfo
}

func TestRealCluster_TokenIdentityEqualsThatOfTheAPIServer(t *testing.T) {
	cluster := realCluster(t)
	factory := realFactory(t, "by-token", &counting{}, serviceRules...)
	authenticator := NewClusterAuthenticator(factory.ForService().Typed, ClusterAuthenticatorOptions{})
	running(t, authenticator.Run)
	token := realToken(t, "kube-system", "by-token")

	identity, err := authenticator.Authenticate(t.Context(), bearer(token))
	must(t, err)
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = token
	wantSame(t, identity, whoAmI(t, kubernetes.NewForConfigOrDie(config)))
	if left := time.Until(identity.Expires); left < 50*time.Minute || left > 70*time.Minute {
		t.Errorf("the token expires in %s", left)
	}
	wantSame(t, identity, whoAmI(t, factory.For(identity).Typed))
}

func wantSame(t *testing.T, identity Identity, user authenticationv1.UserInfo) {
	t.Helper()
	if got := identityOf(user, time.Time{}); got.Key() != identity.Key() {
		t.Errorf("this package: %+v %+v %+v\nthe API server: %+v", identity.Username, identity.Groups, identity.Extra, user)
	}
}

func TestRealCluster_RejectsTokensForOtherAudiences(t *testing.T) {
	factory := realFactory(t, "audience", &counting{}, serviceRules...)
	authenticator := NewClusterAuthenticator(factory.ForService().Typed, ClusterAuthenticatorOptions{Audiences: []string{"kubeconnect"}})
	running(t, authenticator.Run)
	for name, test := range map[string]struct {
		token string
		ok    bool
	}{
		"for us":             {realToken(t, "kube-system", "audience", "kubeconnect"), true},
		"for us and another": {realToken(t, "kube-system", "audience", "other", "kubeconnect"), true},
		"for the API server": {realToken(t, "kube-system", "audience"), false},
		"for another":        {realToken(t, "kube-system", "audience", "other"), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := authenticator.Authenticate(t.Context(), bearer(test.token))
			if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrUnauthenticated) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRealCluster_CertificateIdentityEqualsThatOfTheAPIServer(t *testing.T) {
	cluster := realCluster(t)
	factory := realFactory(t, "by-certificate", &counting{}, serviceRules...)
	authenticator := NewClusterAuthenticator(factory.ForService().Typed, ClusterAuthenticatorOptions{})
	running(t, authenticator.Run)
	eventually(t, "the authorities", func() bool { _, read := authenticator.clientCA.authorities(); return read })

	holder := realSigner(t).issue(t, client(pkix.Name{
		CommonName: "alice", Organization: []string{"devs", "ops"}, ExtraNames: uidAttributes("uid-1"),
	}))
	identity, err := overTLS(t, authenticator, holder.pem(), holder.keyPEM(t))
	must(t, err)

	config := rest.AnonymousClientConfig(cluster.Config)
	config.CertData, config.KeyData = []byte(holder.pem()), []byte(holder.keyPEM(t))
	wantSame(t, identity, whoAmI(t, kubernetes.NewForConfigOrDie(config)))
	wantSame(t, identity, whoAmI(t, factory.For(identity).Typed))
	if identity.UID != "uid-1" || !slices.Contains(identity.Groups, "ops") || identity.Expires.IsZero() {
		t.Errorf("got %+v", identity)
	}
}

// realSigner returns the cluster's authority.
func realSigner(t *testing.T) *signer {
	t.Helper()
	pki := filepath.Join(filepath.Dir(realCluster(t).Kubeconfig), "pki")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "ca.crt"), filepath.Join(pki, "ca.key"))
	must(t, err)
	return &signer{pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)}
}

// TestRealClientFactory_ImpersonatesTheUserOfAPodsToken uses a token with all the extra of the API
// server: each key needs a permission to impersonate it.
func TestRealClientFactory_ImpersonatesTheUserOfAPodsToken(t *testing.T) {
	cluster := realCluster(t)
	factory := realFactory(t, "by-pod", &counting{}, serviceRules...)
	authenticator := NewClusterAuthenticator(factory.ForService().Typed, ClusterAuthenticatorOptions{})
	running(t, authenticator.Run)
	pod, err := cluster.Client.CoreV1().Pods("kube-system").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "caller"},
		Spec: corev1.PodSpec{
			ServiceAccountName: "by-pod", NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	request, err := cluster.Client.CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), "by-pod", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID,
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	identity, err := authenticator.Authenticate(t.Context(), bearer(request.Status.Token))
	must(t, err)
	t.Logf("extra: %v", slices.Sorted(maps.Keys(identity.Extra)))
	wantSame(t, identity, whoAmI(t, factory.For(identity).Typed))
}

func TestRealClientFactory_SendsTheCallersOwnToken(t *testing.T) {
	factory := realFactory(t, "own-token", &counting{}, serviceRules[:2]...)
	authenticator := NewClusterAuthenticator(factory.ForService().Typed, ClusterAuthenticatorOptions{KeepTokens: true})
	running(t, authenticator.Run)
	identity, err := authenticator.Authenticate(t.Context(), bearer(realToken(t, "kube-system", "default")))
	must(t, err)
	wantSame(t, identity, whoAmI(t, factory.For(identity).Typed))
	_, err = factory.For(identity).Typed.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
}
