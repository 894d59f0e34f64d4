package queries_test

import (
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestRelated_CoversTheAllowedNamespaces reads pods that one cluster-scoped object owns in three
// namespaces, as a caller with permissions in two of them.
func TestRelated_CoversTheAllowedNamespaces(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	node, err := kit.Cluster(t).Client.CoreV1().Nodes().Get(ctx, "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	var namespaces []string
	for range 3 {
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, kit.QuietPod("owned", nil, owner), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kit.CreateUnscheduledPod(ctx, t, namespace, "other")
		namespaces = append(namespaces, namespace)
	}
	allowed := slices.Sorted(slices.Values(namespaces[:2]))
	account := kit.NewAccount(ctx, t, namespaces[0], "reader")
	for _, namespace := range allowed {
		account.GrantIn(namespace, "reader", kit.Rule("pods", "list", "watch"))
	}
	client := account.Calling(service, harness.Connect).Resources
	related := &kubeconnectv1.Relation{Type: kit.RelatedOwnedBy, Resource: "nodes", Name: node.Name}
	list := func() (*kubeconnectv1.ListResponse, error) {
		return client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Related: related})
	}
	_, err = list()
	kit.WantError(t, err, connect.CodePermissionDenied, "nodes")
	kit.GrantEverywhere(t, account, kit.Rule("nodes", "get"))
	kit.Eventually(ctx, t, "the caller has its permissions", func() error { _, err := list(); return err })
	objects, err := list()
	if got := kit.NamespacesOf(objects.GetObjects()); err != nil || len(objects.GetObjects()) != 2 || !slices.Equal(got, allowed) || !slices.Equal(objects.GetNamespaces(), allowed) {
		t.Errorf("pods of %q, namespaces %q, %v; want %q", got, objects.GetNamespaces(), err, allowed)
	}
	count, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", Related: related})
	if err != nil || count.GetTotalCount() != 2 || !slices.Equal(count.GetNamespaces(), allowed) {
		t.Errorf("%d pods, namespaces %q, %v; want %q", count.GetTotalCount(), count.GetNamespaces(), err, allowed)
	}
	first, err := kit.FirstOf(ctx, client, &kubeconnectv1.WatchRequest{Resource: "pods", Related: related})
	if err != nil || !slices.Equal(first.GetNamespaces(), allowed) {
		t.Errorf("a watch covers %q, %v; want %q", first.GetNamespaces(), err, allowed)
	}
	_, err = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Related: related, RequireAllNamespaces: true})
	kit.WantError(t, err, connect.CodePermissionDenied, "pods")
}
