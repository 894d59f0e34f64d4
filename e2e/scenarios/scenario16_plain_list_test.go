package scenarios_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario16_PlainListReplacesAMissingWatchList(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	old, err := harness.StartCluster("--apiserver-arg", "feature-gates=WatchList=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Stop)
	refusesWatchList(ctx, t, old)
	namespace := kit.NewNamespace(ctx, t, old)
	write := kit.ConfigMapsIn(ctx, t, old, namespace)
	before := write.Create("before", nil)
	client := kit.NewClient(t, old)
	kit.UntilRead(ctx, t, client, "configmaps", before)

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, FieldSelector: "metadata.name!=kube-root-ca.crt",
	})
	stream.Synced(ctx)
	kit.WantSnapshot(t, stream, kit.Added(before))
	one := write.Create("one", nil)
	touched := write.Touch("one", "touched")
	write.Delete("one")
	last := write.Create("last", nil)
	kit.WantChanges(t, stream.Reaches(ctx, last.ResourceVersion),
		kit.Added(one), kit.Modified(touched), kit.Deleted(touched), kit.Added(last))
}

// refusesWatchList verifies that the API server does not support streaming lists.
func refusesWatchList(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	err := controlPlane.Client.CoreV1().RESTClient().Get().Resource("configmaps").
		Param("watch", "true").Param("sendInitialEvents", "true").
		Param("resourceVersionMatch", "NotOlderThan").Param("allowWatchBookmarks", "true").
		Do(ctx).Error()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("the API server accepts a streaming list: %v", err)
	}
}
