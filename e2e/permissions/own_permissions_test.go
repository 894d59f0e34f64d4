package permissions_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// The service runs as an account that has permission to read ConfigMaps but not ServiceAccounts,
// until its binding is deleted.
func TestOwnPermissions_MissingOnesAreReported(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	own, caller := kit.NewAccount(ctx, t, namespace, "service"), kit.NewAccount(ctx, t, namespace, "caller")
	kit.GrantAdmin(ctx, t, caller)
	bind := ownRole(ctx, t, own,
		rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		kit.Rule("configmaps", "list", "watch"))
	service := harness.StartService(t, own.Kubeconfig(), "--auth", "cluster", "--preload", "configmaps,serviceaccounts")
	kit.WantProbe(ctx, t, service, "/readyz", http.StatusServiceUnavailable)

	unbind := bind()
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	client := caller.Calling(service, harness.Connect).Resources
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}); err != nil {
		t.Errorf("a resource that the service has permission to list: %v", err)
	}
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "serviceaccounts", Namespace: namespace})
	if err != nil || list.GetSource() != kubeconnectv1.Source_SOURCE_API_SERVER {
		t.Errorf("a resource that only the caller has permission to list: from %v, %v", list.GetSource(), err)
	}
	kit.WantProbe(ctx, t, service, "/upstreamz", http.StatusOK)

	unbind()
	kit.UntilProbe(ctx, t, service, "/upstreamz", http.StatusServiceUnavailable)
	kit.Eventually(ctx, t, "/upstreamz names the missing permissions", func() error {
		page := bodyOf(ctx, t, service, "/upstreamz")
		if !strings.Contains(page, "create tokenreviews.authentication.k8s.io, create subjectaccessreviews.authorization.k8s.io") {
			return errors.New(page)
		}
		return nil
	})
	kit.WantProbe(ctx, t, service, "/readyz", http.StatusOK)

	bind()
	kit.UntilProbe(ctx, t, service, "/upstreamz", http.StatusOK)
}

// ownRole creates a role. The returned function binds an account to it, and returns a function that
// removes the binding.
func ownRole(ctx context.Context, t *testing.T, account kit.Account, rules ...rbacv1.PolicyRule) (bind func() (unbind func())) {
	t.Helper()
	api := kit.Cluster(t).Client.RbacV1()
	role, err := api.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	remove := func() {
		err := api.ClusterRoleBindings().Delete(context.WithoutCancel(ctx), role.Name, metav1.DeleteOptions{})
		if kit.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		remove()
		_ = api.ClusterRoles().Delete(context.WithoutCancel(ctx), role.Name, metav1.DeleteOptions{})
	})
	return func() func() {
		t.Helper()
		if _, err := api.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{account.Subject()},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return remove
	}
}

// bodyOf returns the body of a path of the service, or the error as text.
func bodyOf(ctx context.Context, t *testing.T, service *harness.Service, path string) string {
	t.Helper()
	_, body, err := kit.GetPath(ctx, t, service, path)
	if err != nil {
		return err.Error()
	}
	return body
}

// A custom resource whose conversion webhook is down cannot be listed. It must not make the whole
// replica stale, nor prevent it from becoming ready.
func TestConversionWebhook_OutageAffectsItsResourceOnly(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	gadgets := kit.NewCustomResource(ctx, t, controlPlane, namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", nil)
	convertNowhere(ctx, t, gadgets)
	service := harness.StartService(t, controlPlane.Kubeconfig, "--preload", "configmaps,"+gadgets.Name())
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources

	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.Name(), Namespace: namespace})
	kit.WantError(t, err, connect.CodeUnavailable, "the service has no snapshot of "+gadgets.Name())
	kit.WantStatus(t, err, "ServiceUnavailable")
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	kit.WantProbe(ctx, t, service, "/upstreamz", http.StatusOK)
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}); err != nil {
		t.Errorf("another resource: %v", err)
	}
}

// convertNowhere serves a custom resource in another version too, with a conversion webhook that
// does not exist.
func convertNowhere(ctx context.Context, t *testing.T, gadgets kit.CustomResource) {
	t.Helper()
	kit.Eventually(ctx, t, "the definition has a conversion webhook", func() error {
		now, err := gadgets.ControlPlane.Dynamic.Resource(kit.CRDResource).Get(ctx, gadgets.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed := gadgets.Definition([]string{"v1", "v2"}, nil)
		changed.SetResourceVersion(now.GetResourceVersion())
		if err := unstructured.SetNestedMap(changed.Object, map[string]any{
			"strategy": "Webhook",
			"webhook": map[string]any{
				"clientConfig":             map[string]any{"url": "https://127.0.0.1:1/convert"},
				"conversionReviewVersions": []any{"v1"},
			},
		}, "spec", "conversion"); err != nil {
			return err
		}
		_, err = gadgets.ControlPlane.Dynamic.Resource(kit.CRDResource).Update(ctx, changed, metav1.UpdateOptions{})
		return err
	})
	kit.Eventually(ctx, t, "the objects cannot be converted", func() error {
		_, err := gadgets.Objects("v2", "").List(ctx, metav1.ListOptions{})
		if err == nil || !strings.Contains(err.Error(), "conversion webhook") {
			return fmt.Errorf("the API server returns %v", err)
		}
		return nil
	})
}
