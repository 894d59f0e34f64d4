package daytwo_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"connectrpc.com/connect/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// The token of the service's own account is replaced in its file, and the old one is revoked at once,
// which is earlier than a kubelet does it. All connections to the API server are cut, so that
// everything needs the new token.
func TestOwnToken_RotationIsNotNoticed(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	testbed := kit.NewTestbed(ctx, t, kit.Cluster(t))
	own := kit.NewAccount(ctx, t, testbed.Namespaces[0], "service")
	kit.GrantAdmin(ctx, t, own)
	old, revoke := revocableToken(ctx, t, own, "old")
	file := filepath.Join(t.TempDir(), "token")
	writeFile(t, file, []byte(old))
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
	service := harness.StartService(t, kubeconfigWith(t, kit.Cluster(t), func(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		cluster.Server = "https://" + link.Address()
		*user = clientcmdapi.AuthInfo{TokenFile: file}
	}), "--auth", "cluster")
	caller := kit.NewAccount(ctx, t, testbed.Namespaces[0], "caller")
	kit.GrantAdmin(ctx, t, caller)
	var clients []record.Client
	for _, protocol := range []harness.Protocol{harness.Connect, harness.GRPC} {
		clients = append(clients, caller.Calling(service, protocol).Resources)
	}
	group := kit.NewTrafficGroup(ctx, t, testbed, kit.NewSeed(t), clients...)
	group.AtWork(ctx, kit.BusyWrites)

	renewed, _ := revocableToken(ctx, t, own, "renewed")
	writeFile(t, file, []byte(renewed))
	revoke()
	link.Cut()
	unknown := kit.NewAccount(ctx, t, testbed.Namespaces[0], "unknown-so-far")
	kit.GrantAdmin(ctx, t, unknown)
	readsOrRetries(ctx, t, unknown.Calling(service, harness.GRPC).Resources)
	group.AtWork(ctx, kit.BusyWrites)
	group.CatchUp(validate.AfterResume)
	t.Log(group.Finish(ctx, validate.Evidence{}))
}

// readsOrRetries reads a resource that nothing has read before, as a client does: an error that is not
// UNAVAILABLE fails the test, because clients do not retry it.
func readsOrRetries(ctx context.Context, t *testing.T, client kit.ResourceClient) {
	t.Helper()
	kit.Eventually(ctx, t, "a caller is served that was not known before", func() error {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "podtemplates"})
		if err != nil && connect.CodeOf(err) != connect.CodeUnavailable {
			t.Fatalf("the caller has to handle: %v", err)
		}
		return err
	})
}

// revocableToken creates a token of an account that is bound to a Secret. The function deletes the
// Secret, and blocks until the API server rejects the token.
func revocableToken(ctx context.Context, t *testing.T, account kit.Account, name string) (token string, revoke func()) {
	t.Helper()
	secrets := kit.SecretsIn(t, account.Namespace)
	secret, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token = account.TokenFor(authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
		APIVersion: "v1", Kind: "Secret", Name: name, UID: secret.UID,
	}})
	return token, func() {
		t.Helper()
		if err := secrets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		config := rest.AnonymousClientConfig(kit.Cluster(t).Config)
		config.BearerToken = token
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		kit.Eventually(ctx, t, "the API server rejects the old token", func() error {
			_, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
			if apierrors.IsUnauthorized(err) {
				return nil
			}
			return errors.Join(errors.New("it does not"), err)
		})
	}
}
