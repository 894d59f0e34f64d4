package scenarios_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario21_TwentyThousandObjectsFitOneSnapshot(t *testing.T) {
	crowd := kit.CrowdOfConfigMaps(t)
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.CrowdedCluster(t))

	began := time.Now()
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: crowd.Namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	})
	view := stream.Synced(ctx)
	t.Logf("%d objects watched from a cold start: %v, in %d messages", crowd.Count, time.Since(began), view.Responses)
	if len(view.Model.Objects) != crowd.Count {
		t.Errorf("the snapshot has %d objects, want %d", len(view.Model.Objects), crowd.Count)
	}

	began = time.Now()
	objects := kit.ListAll(ctx, t, client, &kubeconnectv1.ListRequest{
		Resource: "configmaps", Namespace: crowd.Namespace, PageSize: 3000,
	})
	t.Logf("%d objects listed in pages of 3,000: %v", len(objects), time.Since(began))
	if len(objects) != crowd.Count {
		t.Errorf("the list has %d objects, want %d", len(objects), crowd.Count)
	}
	if !slices.IsSortedFunc(objects, byName) {
		t.Error("the list is not ordered by name")
	}
	if distinct := slices.CompactFunc(objects, sameName); len(distinct) != crowd.Count {
		t.Errorf("the list has %d different objects", len(distinct))
	}
}

func byName(a, b *kubeconnectv1.Object) int { return cmp.Compare(a.GetName(), b.GetName()) }

func sameName(a, b *kubeconnectv1.Object) bool { return a.GetName() == b.GetName() }
