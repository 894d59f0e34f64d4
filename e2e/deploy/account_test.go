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

// account is a service account, with a token and nothing else.
type account struct {
	namespace, name string
	config          *rest.Config
}

// accountOf is an account with a token for as long as what it is bound to is there.
func accountOf(ctx context.Context, t *testing.T, namespace, name string, boundTo *authenticationv1.BoundObjectReference) account {
	t.Helper()
	in := cluster(t)
	token, err := in.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: boundTo}}, metav1.CreateOptions{})
	succeeds(t, err)
	config := rest.AnonymousClientConfig(in.Config)
	config.BearerToken = token.Status.Token
	config.QPS = -1
	return account{namespace, name, config}
}

// user is the name that the cluster knows the account by.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// kubeconfig is the path of one with the account's token.
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

// untilHas returns when the API server knows of all the rights.
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
