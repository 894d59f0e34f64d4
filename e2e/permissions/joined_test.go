package permissions_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// joinReader lists the pods of two namespaces with the ConfigMaps of the same name.
type joinReader struct {
	kit.Account
	client kit.ResourceClient
	a, b   string
}

// read returns each pod with the result of the join, and the warnings.
func (r joinReader) read(ctx context.Context) (map[string]*kubeconnectv1.JoinedObjects, []string, error) {
	list, err := r.client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Joins: []*kubeconnectv1.Join{{
		Name: "config", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "configmaps", Path: "metadata.name", Fields: []string{"data"},
	}}})
	results := make(map[string]*kubeconnectv1.JoinedObjects)
	for _, pod := range list.GetObjects() {
		results[map[string]string{r.a: "A", r.b: "B"}[pod.GetNamespace()]+"/"+pod.GetName()] = pod.GetJoined()[0]
	}
	return results, list.GetWarnings(), err
}

// untilCounts blocks until the joins have these counts; -1 is not permitted.
func (r joinReader) untilCounts(ctx context.Context, t *testing.T, want map[string]int64) (results map[string]*kubeconnectv1.JoinedObjects, warnings []string) {
	t.Helper()
	kit.Eventually(ctx, t, fmt.Sprint("the joins have ", want), func() (err error) {
		results, warnings, err = r.read(ctx)
		if err != nil {
			return err
		}
		for pod, count := range want {
			got := results[pod].GetCount()
			if results[pod].GetNotPermitted() {
				got = -1
			}
			if got != count {
				return fmt.Errorf("%s has %v", pod, results[pod])
			}
		}
		return nil
	})
	return results, warnings
}

// TestJoins_ShowOnlyPermittedNamespaces grants and revokes the permission for the joined resource in
// one of two namespaces.
func TestJoins_ShowOnlyPermittedNamespaces(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	r := joinReader{a: kit.NewNamespace(ctx, t, kit.Cluster(t)), b: kit.NewNamespace(ctx, t, kit.Cluster(t))}
	r.Account = kit.NewAccount(ctx, t, r.a, "reader")
	r.client = r.Calling(kit.StartForCallers(t), harness.Connect).Resources
	for _, namespace := range []string{r.a, r.b} {
		kit.CreateUnscheduledPod(ctx, t, namespace, "with")
		kit.CreateUnscheduledPod(ctx, t, namespace, "without")
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("with", nil)
		r.GrantIn(namespace, "pods", kit.Rule("pods", "list"))
	}
	r.GrantIn(r.a, "config", kit.Rule("configmaps", "list"))
	results, warnings := r.untilCounts(ctx, t, map[string]int64{"A/with": 1, "A/without": 0, "B/with": -1, "B/without": -1})
	if !proto.Equal(results["B/with"], results["B/without"]) {
		t.Errorf("the results show whether there is a related object: %v, %v", results["B/with"], results["B/without"])
	}
	wantWarning(t, warnings, `join "config": some results are not permitted: you may not list configmaps in their namespaces`)

	r.GrantIn(r.b, "config", kit.Rule("configmaps", "list"))
	_, warnings = r.untilCounts(ctx, t, map[string]int64{"A/with": 1, "B/with": 1, "B/without": 0})
	if slices.ContainsFunc(warnings, func(warning string) bool { return strings.Contains(warning, "not permitted") }) {
		t.Errorf("the warnings are %q", warnings)
	}
	r.RevokeIn(r.a, "config")
	r.untilCounts(ctx, t, map[string]int64{"A/with": -1, "A/without": -1, "B/with": 1})
}

func wantWarning(t *testing.T, warnings []string, want string) {
	t.Helper()
	if !slices.Contains(warnings, want) {
		t.Errorf("the warnings are %q, without %q", warnings, want)
	}
}

// TestJoins_OwnersBetweenNeedAPermission joins the deployments of pods for a caller that can list
// both, but not the replica sets between them at first.
func TestJoins_OwnersBetweenNeedAPermission(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, namespace, "web", 1)
	account := kit.NewAccount(ctx, t, namespace, "reader")
	client := account.Calling(kit.StartForCallers(t), harness.Connect).Resources
	apps := func(resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{resource}, Verbs: []string{"list"}}
	}
	account.GrantIn(namespace, "both", kit.Rule("pods", "list"), apps("deployments"))
	var warnings []string
	until := func(count int64, permitted bool) {
		t.Helper()
		kit.Eventually(ctx, t, fmt.Sprint("the pod has deployments: ", count), func() error {
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace, Joins: []*kubeconnectv1.Join{
				{Name: "owner", Type: kubeconnectv1.JoinType_JOIN_TYPE_OWNER_OF, Resource: "deployments", Fields: []string{"spec.replicas"}}}})
			if err != nil {
				return err
			}
			if len(list.GetObjects()) != 1 {
				return fmt.Errorf("%d pods", len(list.GetObjects()))
			}
			warnings = list.GetWarnings()
			if joined := list.GetObjects()[0].GetJoined()[0]; joined.GetCount() != count || joined.GetNotPermitted() == permitted {
				return fmt.Errorf("the result is %v", joined)
			}
			return nil
		})
	}
	until(0, false)
	wantWarning(t, warnings, `join "owner": some results are not permitted: you may not list replicasets.apps in their namespaces`)
	account.GrantIn(namespace, "between", apps("replicasets"))
	until(1, true)
}

// TestJoins_NodesNeedAPermission joins a cluster-scoped resource.
func TestJoins_NodesNeedAPermission(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateUnscheduledPod(ctx, t, namespace, "node-0")
	account := kit.NewAccount(ctx, t, namespace, "reader")
	client := account.Calling(kit.StartForCallers(t), harness.Connect).Resources
	account.GrantIn(namespace, "pods", kit.Rule("pods", "list"))
	until := func(count int64, permitted bool) {
		t.Helper()
		kit.Eventually(ctx, t, fmt.Sprint("the pod has nodes: ", count), func() error {
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace, Joins: []*kubeconnectv1.Join{
				{Name: "node", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "nodes", Path: "metadata.name"}}})
			if err != nil {
				return err
			}
			if joined := list.GetObjects()[0].GetJoined()[0]; joined.GetCount() != count || joined.GetNotPermitted() == permitted {
				return fmt.Errorf("the result is %v", joined)
			}
			return nil
		})
	}
	until(0, false)
	revoke := kit.GrantEverywhere(t, account, kit.Rule("nodes", "list"))
	until(1, true)
	revoke()
	until(0, false)
}

// TestLiveJoins_FollowPermissions grants and revokes the permission for the joined resource while a
// page is watched. After the client has seen that the permission is lost, no related object follows.
func TestLiveJoins_FollowPermissions(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateUnscheduledPod(ctx, t, namespace, "a")
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("a", nil)
	account := kit.NewAccount(ctx, t, namespace, "reader")
	client := account.Calling(kit.StartForCallers(t), harness.Connect).Resources
	account.GrantIn(namespace, "pods", kit.Rule("pods", "list", "watch"))
	kit.Eventually(ctx, t, "the permission is effective", func() error {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace})
		return err
	})
	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: namespace, Limit: 10, Joins: []*kubeconnectv1.Join{
		{Name: "config", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "configmaps", Path: "metadata.name", Fields: []string{"data"}}}}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	until := func(count int64, permitted bool) {
		t.Helper()
		for stream.Receive() {
			for _, event := range stream.Msg().GetEvents() {
				for _, joined := range event.GetObject().GetJoined() {
					if joined.GetCount() == count && joined.GetNotPermitted() != permitted {
						return
					}
				}
			}
		}
		t.Fatalf("the stream ended with %v", stream.Err())
	}
	until(0, false)
	account.GrantIn(namespace, "config", kit.Rule("configmaps", "list"))
	until(1, true)
	account.RevokeIn(namespace, "config")
	until(0, false)
}
