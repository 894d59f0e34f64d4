package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// account is the service account of an installation, as its pods are it.
type account struct {
	namespace  string
	config     *rest.Config
	kubeconfig string // the path of one with its token and nothing else
}

func accountOf(ctx context.Context, t *testing.T, in *harness.Cluster, namespace, name string) account {
	t.Helper()
	token, err := in.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	succeeds(t, err)
	config := rest.AnonymousClientConfig(in.Config)
	config.BearerToken = token.Status.Token
	config.QPS = -1
	return account{namespace, config, writeKubeconfig(t, config)}
}

func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	written := api.NewConfig()
	written.Clusters["c"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	written.AuthInfos["u"] = &api.AuthInfo{Token: config.BearerToken}
	written.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	written.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	succeeds(t, clientcmd.WriteToFile(*written, path))
	return path
}

// client is a client with the account's rights; as another user, if one is named.
func (a account) client(as rest.ImpersonationConfig) (*kubernetes.Clientset, error) {
	config := rest.CopyConfig(a.config)
	config.Impersonate = as
	return kubernetes.NewForConfig(config)
}

// untilHas returns when the API server knows of all the rights.
func (a account) untilHas(ctx context.Context, rights []right) error {
	client, err := a.client(rest.ImpersonationConfig{})
	if err != nil {
		return err
	}
	for _, right := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right.attributes()}}
		err := eventually(ctx, func() error {
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && !answer.Status.Allowed {
				err = errors.New("it is not allowed")
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", right, err)
		}
	}
	return nil
}
