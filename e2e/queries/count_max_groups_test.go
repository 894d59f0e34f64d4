package queries_test

import (
	"fmt"
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestCount_SmallestGroupsAreOmitted counts groups of which two have the same size.
func TestCount_SmallestGroupsAreOmitted(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	last := ""
	for tier, size := range map[string]int{"d": 1, "c": 2, "b": 2, "a": 3} {
		for i := range size {
			last = write.Create(fmt.Sprint(tier, i), kit.Labels{"tier": tier}).ResourceVersion
		}
	}
	all := []string{"3 a", "2 b", "2 c", "1 d"}
	for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
		for most, want := range map[int32][]string{0: all, 1: all[:1], 2: all[:2], 3: all[:3], 4: all, 10_000: all} {
			count, err := client.Count(ctx, &kubeconnectv1.CountRequest{
				Resource: "configmaps", Namespace: namespace, LabelSelector: "tier", GroupBy: []string{"metadata.labels.tier"},
				MaxGroups: most, MinResourceVersion: last, Consistency: consistency,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := linesOf(count.GetGroups()); !slices.Equal(got, want) || count.GetTotalCount() != 8 || count.GetRemainingGroupCount() != int64(len(all)-len(want)) {
				t.Errorf("%s, at most %d groups: %q of %d objects, %d more", consistency, most, got, count.GetTotalCount(), count.GetRemainingGroupCount())
			}
		}
	}
}
