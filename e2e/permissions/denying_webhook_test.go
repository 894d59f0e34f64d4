package permissions_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// vault is the namespace that the webhook denies to all tenants.
	vault = "vault"
	// vaultIsClosed is the webhook's reason.
	vaultIsClosed = "vault is closed"
	// narrow is the tenant that is not allowed to read over all namespaces either, and wide the one
	// that is.
	narrow, wide = "narrow-tenant", "wide-tenant"
)

// TestPermissions_DenialsOfAWebhookPrecedeRBAC uses a webhook that denies what RBAC would
// allow. No permission that the API server grants may allow what the webhook denies: neither one
// that the caller queries with CheckAccess, nor one that another read has queried.
func TestPermissions_DenialsOfAWebhookPrecedeRBAC(t *testing.T) {
	t.Parallel()
	controlPlane := startClusterWithDenyingWebhook(t)
	ctx := kit.Deadline(t)
	openVault(ctx, t, controlPlane)
	home := kit.NewNamespace(ctx, t, controlPlane)
	service := harness.StartService(t, controlPlane.Kubeconfig, "--auth", "cluster")
	for _, name := range []string{narrow, wide} {
		t.Run(name, func(t *testing.T) {
			token := kit.NewToken(ctx, t, controlPlane, home, name)
			letViewEverywhere(ctx, t, controlPlane, home, name)
			caller := tenant{ctx, t, kit.CallingWith(t, service, harness.GRPC, token), directly(t, controlPlane, token)}
			caller.wantVaultClosed("at first")
			caller.asksWhatIsAllowed()
			caller.wantVaultClosed("after allowed queries")
			caller.listsEverything(name == wide)
			caller.wantVaultClosed("after reads over all namespaces")
		})
	}
}

// tenant is a caller with requests that the webhook denies.
type tenant struct {
	ctx     context.Context
	t       *testing.T
	service harness.Clients
	api     kubernetes.Interface // a client of the API server as the same caller
}

// wantVaultClosed reads the vault with every call. The API server denies it, and so must the
// service.
func (c tenant) wantVaultClosed(when string) {
	c.t.Helper()
	if _, err := c.api.CoreV1().ConfigMaps(vault).Get(c.ctx, "payroll", metav1.GetOptions{}); err == nil || !strings.Contains(err.Error(), vaultIsClosed) {
		c.t.Fatalf("%s: the API server returns %v", when, err)
	}
	resources := c.service.Resources
	for read, answer := range map[string]func() (any, error){
		"Get": func() (any, error) {
			return resources.Get(c.ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: vault, Name: "payroll"})
		},
		"List": func() (any, error) {
			return resources.List(c.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: vault})
		},
		"List of one": func() (any, error) {
			return resources.List(c.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: vault, FieldSelector: "metadata.name=payroll"})
		},
		"Count": func() (any, error) {
			return resources.Count(c.ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", Namespace: vault})
		},
		"Watch": func() (any, error) {
			return kit.FirstOf(c.ctx, resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: vault})
		},
		"Watch of one": func() (any, error) {
			return kit.FirstOf(c.ctx, resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: vault, Name: "payroll"})
		},
	} {
		got, err := answer()
		if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), vaultIsClosed) {
			c.t.Errorf("%s: %s returns %v, %v", when, read, got, err)
		}
	}
}

// asksWhatIsAllowed queries with CheckAccess permissions that no read needs, and that RBAC grants:
// the webhook has no opinion about them.
func (c tenant) asksWhatIsAllowed() {
	c.t.Helper()
	question := func(verb, namespace, name string) *kubeconnectv1.AccessCheck {
		return &kubeconnectv1.AccessCheck{Verb: verb, Resource: "configmaps", Namespace: namespace, Name: name}
	}
	answers, err := c.service.Access.CheckAccess(c.ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
		question("get", "", ""), question("get", "", "payroll"), question("list", "", "payroll"), question("watch", "", "payroll"),
		question("list", "", ""), question("watch", "", ""), question("get", vault, ""), question("get", vault, "payroll"),
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	if all := answers.GetDecisions(); !all[0].GetAllowed() || !all[1].GetAllowed() || all[6].GetAllowed() || all[7].GetAllowed() {
		c.t.Errorf("CheckAccess returns %v", all)
	}
}

// listsEverything lists over all namespaces: a caller that the API server allows to do so receives
// the vault there, and here; another caller does not.
func (c tenant) listsEverything(allowed bool) {
	c.t.Helper()
	shown, apiErr := c.api.CoreV1().ConfigMaps("").List(c.ctx, metav1.ListOptions{})
	if (apiErr == nil && hasPayroll(shown)) != allowed {
		c.t.Fatalf("the API server returns %v", apiErr)
	}
	list, err := c.service.Resources.List(c.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
	got := slices.ContainsFunc(list.GetObjects(), func(o *kubeconnectv1.Object) bool { return o.GetNamespace() == vault })
	if got != allowed || allowed && err != nil {
		c.t.Errorf("a list over all namespaces contains the vault: %v, %v", got, err)
	}
	_, err = kit.FirstOf(c.ctx, c.service.Resources, &kubeconnectv1.WatchRequest{Resource: "configmaps"})
	if (err == nil) != allowed {
		c.t.Errorf("a watch over all namespaces returns %v", err)
	}
}

func hasPayroll(list *corev1.ConfigMapList) bool {
	return slices.ContainsFunc(list.Items, func(c corev1.ConfigMap) bool { return c.Name == "payroll" })
}

// directly returns a client of the API server with a caller's token.
func directly(t *testing.T, controlPlane *harness.Cluster, token string) kubernetes.Interface {
	t.Helper()
	config := rest.AnonymousClientConfig(controlPlane.Config)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func openVault(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: vault}}
	if _, err := controlPlane.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.ConfigMapsIn(ctx, t, controlPlane, vault).Create("payroll", nil)
}

// letViewEverywhere grants a service account permission in RBAC to read everything.
func letViewEverywhere(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace, name string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	if _, err := controlPlane.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	reviews := controlPlane.Client.AuthorizationV1().SubjectAccessReviews()
	kit.Eventually(ctx, t, "the caller has the permission", func() error {
		review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + namespace + ":" + name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "configmaps", Namespace: "default", Name: "x"},
		}}, metav1.CreateOptions{})
		if err == nil && !review.Status.Allowed {
			err = errors.New("not allowed yet")
		}
		return err
	})
}

// startClusterWithDenyingWebhook starts a control plane that queries a webhook before RBAC. The
// webhook denies tenants access to the vault, and denies one of them to read over all namespaces.
func startClusterWithDenyingWebhook(t *testing.T) *harness.Cluster {
	t.Helper()
	path := kit.StartWebhook(t, http.HandlerFunc(denyTenants))
	started, err := harness.StartCluster(
		"--apiserver-arg", "authorization-mode=Node,Webhook,RBAC",
		"--apiserver-arg", "authorization-webhook-version=v1",
		"--apiserver-arg", "authorization-webhook-config-file="+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Stop)
	return started
}

func denyTenants(w http.ResponseWriter, r *http.Request) {
	review := authorizationv1.SubjectAccessReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if isDeniedToTenants(review.Spec) {
		review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: vaultIsClosed}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func isDeniedToTenants(spec authorizationv1.SubjectAccessReviewSpec) bool {
	attributes := spec.ResourceAttributes
	if attributes == nil || !strings.HasSuffix(spec.User, "-tenant") {
		return false
	}
	everything := attributes.Namespace == "" && attributes.Resource == "configmaps" && (attributes.Verb == "list" || attributes.Verb == "watch")
	return attributes.Namespace == vault || everything && strings.HasSuffix(spec.User, narrow)
}
