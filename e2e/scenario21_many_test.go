package e2e_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario21_TwentyThousandObjectsFitOneSnapshot(t *testing.T) {
	crowd := crowdOfConfigMaps(t)
	ctx, client := deadline(t), newClient(t, crowdedCluster(t))

	began := time.Now()
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: crowd.namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	})
	view := stream.Synced(ctx)
	t.Logf("%d objects watched from a cold start: %v, in %d messages", crowd.count, time.Since(began), view.Responses)
	if len(view.Model.Objects) != crowd.count {
		t.Errorf("the snapshot has %d objects, want %d", len(view.Model.Objects), crowd.count)
	}

	began = time.Now()
	objects := listAll(ctx, t, client, &kubeconnectv1.ListRequest{
		Resource: "configmaps", Namespace: crowd.namespace, PageSize: 3000,
	})
	t.Logf("%d objects listed in pages of 3,000: %v", len(objects), time.Since(began))
	if len(objects) != crowd.count {
		t.Errorf("the list has %d objects, want %d", len(objects), crowd.count)
	}
	if !slices.IsSortedFunc(objects, byName) {
		t.Error("the list is not ordered by name")
	}
	if distinct := slices.CompactFunc(objects, sameName); len(distinct) != crowd.count {
		t.Errorf("the list has %d different objects", len(distinct))
	}
}

func byName(a, b *kubeconnectv1.Object) int { return cmp.Compare(a.GetName(), b.GetName()) }

func sameName(a, b *kubeconnectv1.Object) bool { return a.GetName() == b.GetName() }
