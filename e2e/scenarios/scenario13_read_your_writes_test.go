package scenarios_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect/v2"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario13_ReadAtAWritesVersionSeesTheWrite(t *testing.T) {
	t.Parallel()
	const writes = 20
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		for i := range writes {
			created := write.Create(fmt.Sprintf("one-%d", i), nil)
			one, err := client.Get(ctx, &kubeconnectv1.GetRequest{
				Resource: "configmaps", Namespace: namespace, Name: created.Name, MinResourceVersion: created.ResourceVersion,
			})
			if err != nil {
				t.Fatal(err)
			}
			kit.WantHead(t, one.GetObject(), created)

			write.Delete(created.Name)
			after := write.Create(fmt.Sprintf("two-%d", i), nil)
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{
				Resource: "configmaps", Namespace: namespace, MinResourceVersion: after.ResourceVersion,
				FieldSelector: "metadata.name!=kube-root-ca.crt",
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(list.GetObjects()) != i+1 {
				t.Errorf("after %d writes the list has %d objects", i+1, len(list.GetObjects()))
			}
		}
	})
}

func TestScenario13_SnapshotAtAWritesVersionHasTheWrite(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("one", nil))
	two := write.Create("two", nil)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "two", MinResourceVersion: two.ResourceVersion,
	})
	stream.Synced(ctx)
	kit.WantSnapshot(t, stream, kit.Added(two))
}

// TestScenario13_QuietResourceReachesTheVersionOfAnother tests a cache that receives
// no event of the write, because priority classes do not change.
func TestScenario13_QuietResourceReachesTheVersionOfAnother(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	request := &kubeconnectv1.ListRequest{Resource: "priorityclasses"}
	if _, err := client.List(ctx, request); err != nil {
		t.Fatal(err)
	}
	created := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("made", nil)
	request.MinResourceVersion = created.ResourceVersion
	list, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	order, err := resourceversion.CompareResourceVersion(list.GetResourceVersion(), created.ResourceVersion)
	if err != nil || order < 0 {
		t.Errorf("version of the list %s, of the write %s (%v)", list.GetResourceVersion(), created.ResourceVersion, err)
	}
}

func TestScenario13_FutureVersionTimesOut(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	const future = "999999999999"
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", MinResourceVersion: future})
	kit.WantError(t, err, connect.CodeDeadlineExceeded, future)
	if wait := kit.WantStatus(t, err, "Timeout").GetRetryAfterSeconds(); wait <= 0 {
		t.Errorf("retry delay of %d seconds", wait)
	}
}

func TestMinResourceVersion_InvalidVersionIsRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", MinResourceVersion: "new"})
	kit.WantError(t, err, connect.CodeInvalidArgument, "min_resource_version", "new")
}
