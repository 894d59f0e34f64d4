package queries_test

import (
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPages_ContinueAtAReplicaThatStartsLater starts lists at one replica and continues them at
// another one, whose cache has never been at their version: it reads exactly that version at the
// API server.
func TestPages_ContinueAtAReplicaThatStartsLater(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	for i := range kit.PagedCount {
		kit.UntilRead(ctx, t, client, "configmaps", write.Create(kit.PagedName(i), nil))
	}
	requests := map[string]*kubeconnectv1.ListRequest{
		"in the default order": {},
		"sorted":               {OrderBy: "metadata.name desc"},
		"filtered":             {Filter: "object.metadata.name.startsWith('paged')"},
	}
	firsts := map[string]*kubeconnectv1.ListResponse{}
	for name, request := range requests {
		request.Resource, request.Namespace, request.PageSize = "configmaps", namespace, kit.PagedSize
		first, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		firsts[name] = first
	}
	for i := range kit.PagedCount / 2 {
		write.Delete(kit.PagedName(2 * i))
	}
	last := write.Touch(kit.PagedName(1), "changed")
	later := kit.NewClient(t, kit.Cluster(t))
	kit.UntilRead(ctx, t, later, "configmaps", last)
	for name, request := range requests {
		request.PageToken = firsts[name].GetNextPageToken()
		var listed []string
		for _, object := range slices.Concat(firsts[name].GetObjects(), kit.ListAll(ctx, t, later, request)) {
			listed = append(listed, object.GetName()+" "+object.GetResourceVersion())
		}
		held := slices.DeleteFunc(kit.HeldAt(ctx, t, kit.Cluster(t), namespace, firsts[name].GetResourceVersion()), func(object string) bool {
			return name == "filtered" && object[:5] != "paged"
		})
		if slices.Sort(listed); !slices.Equal(listed, held) {
			t.Errorf("%s: pages\n%v\nAPI server\n%v", name, listed, held)
		}
	}
}
