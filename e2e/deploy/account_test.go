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
)

// account is a service account, with its token only.
type account struct {
	namespace, name string
	config          *rest.Config
}

// accountOf returns an account with a token that is valid while the object it is bound to exists.
func accountOf(ctx context.Context, t *testing.T, namespace, name string, boundTo *authenticationv1.BoundObjectReference) account {
	t.Helper()
	controlPlane := cluster(t)
	token, err := controlPlane.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: boundTo}}, metav1.CreateOptions{})
	succeeds(t, err)
	config := rest.AnonymousClientConfig(controlPlane.Config)
	config.BearerToken = token.Status.Token
	config.QPS = -1
	return account{namespace, name, config}
}

// user returns the cluster's user name of the account.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// kubeconfig writes a kubeconfig with the account's token, and returns its path.
func (a account) kubeconfig(t *testing.T) string {
	t.Helper()
	written := api.NewConfig()
	written.Clusters["c"] = &api.Cluster{Server: a.config.Host, CertificateAuthorityData: a.config.CAData, CertificateAuthority: a.config.CAFile}
	written.AuthInfos["u"] = &api.AuthInfo{Token: a.config.BearerToken}
	written.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	written.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	succeeds(t, clientcmd.WriteToFile(*written, path))
	return path
}

// untilHas blocks until the API server grants the account all the permissions.
func (a account) untilHas(ctx context.Context, rights []right) error {
	client, err := kubernetes.NewForConfig(a.config)
	if err != nil {
		return err
	}
	for _, right := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right.attributes()}}
		err := eventually(ctx, func() error {
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && !answer.Status.Allowed {
				err = errors.New("not allowed")
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", right, err)
		}
	}
	return nil
}
