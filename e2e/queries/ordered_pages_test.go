package queries_test

import (
	"fmt"
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestOrderBy_PagesKeepTheirOrderWhileKeysChange reads the pages of a list from two replicas in turn.
// Between them every object gets another key, one is deleted and one is created.
func TestOrderBy_PagesKeepTheirOrderWhileKeysChange(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	var want []string
	last := ""
	for i := range 6 {
		want = append(want, fmt.Sprint("one-", 5-i))
		last = write.Create(want[i], kit.Labels{"rank": fmt.Sprint(i)}).ResourceVersion
	}
	request := &kubeconnectv1.ListRequest{
		Resource: "configmaps", Namespace: namespace, LabelSelector: "rank", OrderBy: "metadata.labels.rank", PageSize: 2,
		MinResourceVersion: last, Fields: []string{"metadata.name"},
	}
	objects := kit.WalkPages(ctx, t, kit.NewReplicas(t, kit.Cluster(t), 2), request, func(page int, _ *kubeconnectv1.ListResponse) {
		if page > 1 {
			return
		}
		for i := range 6 {
			write.Relabel(want[i], map[string]any{"rank": fmt.Sprint(9 - i)})
		}
		write.Delete("one-0")
		write.Create("new", kit.Labels{"rank": "4"})
	})
	if got := kit.NamesOf(objects); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
