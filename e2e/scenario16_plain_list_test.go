package e2e_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario16_PlainListReplacesAMissingWatchList(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	old, err := harness.StartCluster("--apiserver-arg", "feature-gates=WatchList=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Stop)
	refusesWatchList(ctx, t, old)
	namespace := newNamespace(ctx, t, old)
	write := configMapsIn(ctx, t, old, namespace)
	before := write.create("before", nil)
	client := newClient(t, old)
	untilRead(ctx, t, client, "configmaps", before)

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, FieldSelector: "metadata.name!=kube-root-ca.crt",
	})
	stream.Synced(ctx)
	wantSnapshot(t, stream, added(before))
	one := write.create("one", nil)
	touched := write.touch("one", "touched")
	write.delete("one")
	last := write.create("last", nil)
	wantChanges(t, stream.Reaches(ctx, last.ResourceVersion),
		added(one), modified(touched), deleted(touched), added(last))
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
