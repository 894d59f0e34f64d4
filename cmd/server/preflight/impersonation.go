package preflight

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// constrainedSince is the first version of Kubernetes with constrained impersonation by default.
var constrainedSince = version.MustParseGeneric("1.36")

// constrained are the permissions for constrained impersonation, as far as they do not depend on what callers
// are to do: for that, the account needs the verbs impersonate-on:user-info:VERB and
// impersonate-on:serviceaccount:VERB on each resource.
var constrained = []need{
	{
		"impersonation", Warning, Permissions{Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"authentication.k8s.io"}, Verbs: []string{"impersonate:user-info"},
				Resources: []string{"groups", "uids", "userextras/authentication.kubernetes.io/credential-id", "users"},
			},
			{APIGroups: []string{"authentication.k8s.io"}, Verbs: []string{"impersonate:serviceaccount"}, Resources: []string{"serviceaccounts"}},
		}},
		"Callers cannot write, read logs, or read what is not cached. This is intended if they read only what is cached.",
	},
	{
		"impersonation for logs", Warning,
		rule("", []string{"impersonate-on:user-info:get", "impersonate-on:serviceaccount:get"}, []string{"pods/log"}),
		"Callers cannot read logs.",
	},
}

// MayImpersonateForAll reports whether an account may impersonate users for every request, and not only for
// those that are granted one by one.
func MayImpersonateForAll(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface) (bool, error) {
	return reviewer{reviews: reviews}.allows(ctx, question{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "users"},
	})
}

// limits checks whether the API server knows constrained impersonation, and the account has no right to more.
func limits(ctx context.Context, client kubernetes.Interface) Result {
	const check = "limits of impersonation"
	all, err := MayImpersonateForAll(ctx, client.AuthorizationV1().SelfSubjectAccessReviews())
	if err != nil {
		return worse(Failed, check, "the API server does not review permissions: "+err.Error(),
			"It is unknown what the service is allowed to do.", "Call again; look at the API server if it persists.")
	}
	if all {
		return worse(Warning, check, "allowed to impersonate users without a limit",
			"The account is as powerful as an administrator, although --write-as impersonate-constrained needs less.",
			"Remove the verb impersonate (or *) on users from its roles.")
	}
	if server, err := client.Discovery().ServerVersion(); err == nil {
		if parsed, err := version.ParseGeneric(server.GitVersion); err == nil && parsed.LessThan(constrainedSince) {
			return worse(Warning, check, fmt.Sprintf("Kubernetes %s has no constrained impersonation by default", server.GitVersion),
				"Callers cannot write, read logs, or read what is not cached.",
				fmt.Sprintf("Upgrade to Kubernetes %s, or set --write-as to token or impersonate.", constrainedSince))
		}
	}
	return ok(check, "the account can impersonate only for the requests that its roles name")
}
