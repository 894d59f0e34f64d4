package deploy_test

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// need does what needs a right, as the service account of an installation.
type need func(context.Context, *testing.T, right, account) error

// needs say for each right what it is for. What the service does with the rights
// over its callers, it does by the same requests as here.
var needs = map[right]need{
	{"", "configmaps", "list"}:       serves("configmaps"),
	{"", "configmaps", "watch"}:      serves("configmaps"),
	{"apps", "deployments", "list"}:  serves("deployments.apps"),
	{"apps", "deployments", "watch"}: serves("deployments.apps"),

	{"authentication.k8s.io", "tokenreviews", "create"}:              reviewsATokenOfItsOwn,
	{"authorization.k8s.io", "subjectaccessreviews", "create"}:       reviewsTheAccessOfACaller,
	{"rbac.authorization.k8s.io", "clusterrolebindings", "list"}:     asksForIt,
	{"rbac.authorization.k8s.io", "clusterrolebindings", "watch"}:    asksForIt,
	{"rbac.authorization.k8s.io", "clusterroles", "list"}:            asksForIt,
	{"rbac.authorization.k8s.io", "clusterroles", "watch"}:           asksForIt,
	{"rbac.authorization.k8s.io", "rolebindings", "list"}:            asksForIt,
	{"rbac.authorization.k8s.io", "rolebindings", "watch"}:           asksForIt,
	{"rbac.authorization.k8s.io", "roles", "list"}:                   asksForIt,
	{"rbac.authorization.k8s.io", "roles", "watch"}:                  asksForIt,
	{"", "users", "impersonate"}:                                     actsAs(rest.ImpersonationConfig{UserName: "jane"}),
	{"", "serviceaccounts", "impersonate"}:                           actsAs(rest.ImpersonationConfig{UserName: "system:serviceaccount:default:default"}),
	{"", "groups", "impersonate"}:                                    actsAs(rest.ImpersonationConfig{UserName: "jane", Groups: []string{"team"}}),
	{"authentication.k8s.io", "uids", "impersonate"}:                 actsAs(rest.ImpersonationConfig{UserName: "jane", UID: "1"}),
	{"authentication.k8s.io", extra("credential-id"), "impersonate"}: actsWith("credential-id"),
	{"authentication.k8s.io", extra("node-name"), "impersonate"}:     actsWith("node-name"),
	{"authentication.k8s.io", extra("node-uid"), "impersonate"}:      actsWith("node-uid"),
	{"authentication.k8s.io", extra("pod-name"), "impersonate"}:      actsWith("pod-name"),
	{"authentication.k8s.io", extra("pod-uid"), "impersonate"}:       actsWith("pod-uid"),
}

// extra is the resource of what a service account's token says besides its name.
func extra(key string) string { return "userextras/authentication.kubernetes.io/" + key }

func actsWith(key string) need {
	return actsAs(rest.ImpersonationConfig{UserName: "jane", Extra: map[string][]string{"authentication.kubernetes.io/" + key: {"x"}}})
}

// asksForIt makes the request that the right is for.
func asksForIt(ctx context.Context, _ *testing.T, right right, who account) error {
	client, err := dynamic.NewForConfig(who.config)
	if err != nil {
		return err
	}
	resource := client.Resource(schema.GroupVersionResource{Group: right.group, Version: "v1", Resource: right.resource})
	switch right.verb {
	case "get":
		if _, err = resource.Namespace(who.namespace).Get(ctx, "nosuch", metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		}
	case "list":
		_, err = resource.List(ctx, metav1.ListOptions{Limit: 1})
	case "watch":
		watch, watchErr := resource.Watch(ctx, metav1.ListOptions{})
		if err = watchErr; err == nil {
			watch.Stop()
		}
	}
	return err
}

func reviewsATokenOfItsOwn(ctx context.Context, _ *testing.T, _ right, who account) error {
	client, err := who.client(rest.ImpersonationConfig{})
	if err != nil {
		return err
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: who.config.BearerToken}}
	_, err = client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	return err
}

func reviewsTheAccessOfACaller(ctx context.Context, _ *testing.T, right right, who account) error {
	client, err := who.client(rest.ImpersonationConfig{})
	if err != nil {
		return err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "jane", ResourceAttributes: right.attributes()}}
	_, err = client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	return err
}

// actsAs asks the API server who it is, as another.
func actsAs(other rest.ImpersonationConfig) need {
	return func(ctx context.Context, _ *testing.T, _ right, who account) error {
		client, err := who.client(other)
		if err != nil {
			return err
		}
		_, err = client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		return err
	}
}
