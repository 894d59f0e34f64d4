package e2e_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario13_ReadAtAWritesVersionSeesTheWrite(t *testing.T) {
	t.Parallel()
	const writes = 20
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		write := configMapsIn(ctx, t, cluster(t), namespace)
		for i := range writes {
			created := write.create(fmt.Sprintf("one-%d", i), nil)
			one, err := client.Get(ctx, &kubeconnectv1.GetRequest{
				Resource: "configmaps", Namespace: namespace, Name: created.Name, MinResourceVersion: created.ResourceVersion,
			})
			if err != nil {
				t.Fatal(err)
			}
			wantHead(t, one.GetObject(), created)

			write.delete(created.Name)
			after := write.create(fmt.Sprintf("two-%d", i), nil)
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
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	untilRead(ctx, t, client, "configmaps", write.create("one", nil))
	two := write.create("two", nil)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "two", MinResourceVersion: two.ResourceVersion,
	})
	stream.Synced(ctx)
	wantSnapshot(t, stream, added(two))
}

// TestScenario13_QuietResourceReachesTheVersionOfAnother tests a cache that receives
// no event of the write, because priority classes do not change.
func TestScenario13_QuietResourceReachesTheVersionOfAnother(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	request := &kubeconnectv1.ListRequest{Resource: "priorityclasses"}
	if _, err := client.List(ctx, request); err != nil {
		t.Fatal(err)
	}
	created := configMapsIn(ctx, t, cluster(t), namespace).create("made", nil)
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
	ctx, client := deadline(t), newClient(t, cluster(t))
	const future = "999999999999"
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", MinResourceVersion: future})
	wantError(t, err, connect.CodeDeadlineExceeded, future)
	if wait := wantStatus(t, err, "Timeout").GetRetryAfterSeconds(); wait <= 0 {
		t.Errorf("retry delay of %d seconds", wait)
	}
}

func TestMinResourceVersion_InvalidVersionIsRejected(t *testing.T) {
	t.Parallel()
	ctx, client := deadline(t), newClient(t, cluster(t))
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", MinResourceVersion: "new"})
	wantError(t, err, connect.CodeInvalidArgument, "min_resource_version", "new")
}
