package scenarios_test

import (
	"context"
	"testing"

	"connectrpc.com/connect/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestScenario24_EachReadNeedsItsOwnPermission grants a caller list but not watch, get of one name,
// and no permission to read Secrets.
func TestScenario24_EachReadNeedsItsOwnPermission(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("mine", nil)
	write.Create("other", nil)
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	named := kit.Rule("configmaps", "get", "watch")
	named.ResourceNames = []string{"mine", "absent"}
	caller.GrantIn(namespace, "reader", kit.Rule("services", "list"), named, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}})
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			clients := caller.Calling(service, protocol)
			kit.Eventually(ctx, t, "the caller has its permissions", func() error {
				_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "services", Namespace: namespace})
				return err
			})
			eachReadNeedsItsOwnRight(ctx, t, clients.Resources, namespace)
			whatTheCallerMay(ctx, t, clients, caller)
		})
	}
}

func eachReadNeedsItsOwnRight(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string) {
	t.Helper()
	get := func(resource, name string) error {
		_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: name})
		return err
	}
	list := func(resource string) error {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace})
		return err
	}
	if err := get("configmaps", "mine"); err != nil {
		t.Error(err)
	}
	kit.WantError(t, get("configmaps", "absent"), connect.CodeNotFound)
	kit.WantError(t, get("configmaps", "other"), connect.CodePermissionDenied, `configmaps "other" is forbidden`)
	kit.WantError(t, get("configmaps", "nowhere"), connect.CodePermissionDenied, `configmaps "nowhere" is forbidden`)
	kit.WantError(t, list("configmaps"), connect.CodePermissionDenied, "cannot list")
	if err := list("pods"); err != nil {
		t.Error(err)
	}
	kit.WantError(t, list("secrets"), connect.CodePermissionDenied, "secrets is forbidden")
	kit.WantError(t, kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "services", Namespace: namespace}), connect.CodePermissionDenied, "cannot watch")
	kit.WantError(t, kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Name: "other"}), connect.CodePermissionDenied)
	for _, request := range []*kubeconnectv1.WatchRequest{{Name: "mine"}, {FieldSelector: "metadata.name=mine"}} {
		request.Resource, request.Namespace = "configmaps", namespace
		record.Watch(t, client, request).Synced(ctx)
	}
}

// whatTheCallerMay compares the decisions of CheckAccess with the permissions.
func whatTheCallerMay(ctx context.Context, t *testing.T, clients harness.Clients, caller kit.Account) {
	t.Helper()
	identity, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
	if err != nil || identity.GetUsername() != caller.User() || identity.GetUid() == "" || len(identity.GetGroups()) == 0 {
		t.Errorf("caller %v, %v", identity, err)
	}
	answers, err := clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
		{Verb: "list", Resource: "svc", Namespace: caller.Namespace},
		{Verb: "watch", Resource: "svc", Namespace: caller.Namespace},
		{Verb: "get", Resource: "cm", Namespace: caller.Namespace, Name: "mine"},
		{Verb: "get", Resource: "cm", Namespace: caller.Namespace, Name: "other"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true, false} {
		if answers.GetDecisions()[i].GetAllowed() != want {
			t.Errorf("decision %d: %v", i, answers.GetDecisions()[i])
		}
	}
	_, err = clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: make([]*kubeconnectv1.AccessCheck, 101)})
	kit.WantError(t, err, connect.CodeInvalidArgument, "100")
}
