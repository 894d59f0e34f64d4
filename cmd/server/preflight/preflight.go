package preflight

import (
	"context"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// timeout bounds each request.
const timeout = 10 * time.Second

// Features are the parts of the service that its settings select.
type Features struct {
	// Cluster is the client configuration of the service.
	Cluster *rest.Config
	// Resolver finds resources by the names in the settings.
	Resolver *discovery.Resolver
	// Namespaces returns the namespaces in which the service lists and watches a resource; nil if in all.
	Namespaces func(ctx context.Context, resource object.Resource) ([]string, error)
	// AuthenticatesCallers is whether callers are authenticated and authorized by the cluster.
	AuthenticatesCallers bool
	// FollowsTokens is whether the objects that tokens depend on are watched.
	FollowsTokens bool
	// Impersonates is whether writes and uncached reads use the permission to impersonate.
	Impersonates bool
	// Constrained is whether they use constrained impersonation instead, which needs a permission for each
	// kind of request.
	Constrained bool
	// Preload are the names of resources that are cached, and Limits of those that are not, or not as a whole.
	Preload []string
	Limits  []config.CacheLimit
	// IssuerURL is the OpenID issuer of the console, if it has one.
	IssuerURL string
	// EndpointOrigins are the origins of the issuer's token endpoint, if it is not at the issuer's own.
	EndpointOrigins []string
	// Peers is the address of the other replicas, HOST:PORT, if there are some.
	Peers string
}

// Run makes all checks, each within a bounded time.
func Run(ctx context.Context, features Features) []Result {
	results, reached := connection(ctx, features.Cluster)
	if reached {
		results = append(results, inCluster(ctx, features)...)
	} else {
		results = append(results, worse(Skipped, "permissions", "the API server must respond first", "", ""))
	}
	if features.IssuerURL != "" {
		results = append(results, issuer(ctx, http.DefaultTransport, features))
	}
	if features.Peers != "" {
		results = append(results, peers(ctx, features.Peers))
	}
	return results
}

// inCluster makes the checks that need the API server.
func inCluster(ctx context.Context, features Features) []Result {
	config := rest.CopyConfig(features.Cluster)
	config.QPS = -1
	config.Timeout = timeout
	client, err := clientsetOf(config)
	if err != nil {
		return []Result{worse(Failed, "credential", err.Error(), "The service cannot call the API server.", "Correct the kubeconfig.")}
	}
	user, result := credential(ctx, client)
	results := []Result{result}
	if result.Outcome == Failed {
		return append(results, worse(Skipped, "permissions", "the credential must be accepted first", "", ""))
	}
	reviewer := reviewer{client.AuthorizationV1().SelfSubjectAccessReviews(), user}
	for _, need := range features.needs() {
		results = append(results, reviewer.check(ctx, need))
	}
	if features.AuthenticatesCallers && features.Constrained {
		results = append(results, limits(ctx, client))
	}
	return append(results, features.resources(ctx, reviewer)...)
}

// clientsetOf returns a clientset that follows no redirect.
func clientsetOf(config *rest.Config) (kubernetes.Interface, error) {
	client, _, err := clientOf(config)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfigAndClient(config, client)
}

// credential returns the user whose credential the service has.
func credential(ctx context.Context, client kubernetes.Interface) (user string, result Result) {
	const check = "credential"
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return "", worse(Failed, check, "the API server rejects the token or certificate: "+err.Error(),
			"The service cannot call the API server.",
			"Renew the credential of the kubeconfig, or of the service account of the pod.")
	case err != nil:
		return "", worse(Failed, check, "the API server does not say who the service is: "+err.Error(),
			"The service may be unable to call the API server.", "Call again; look at the API server if it persists.")
	}
	user = review.Status.UserInfo.Username
	return user, Result{Check: check, Outcome: OK, Found: "the service is " + user, User: user}
}
