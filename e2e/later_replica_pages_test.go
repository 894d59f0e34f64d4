package e2e_test

import (
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// TestPages_ContinueAtAReplicaThatStartsLater starts lists at one replica and continues them at
// another one, whose cache has never been at their version: it reads exactly that version at the
// API server.
func TestPages_ContinueAtAReplicaThatStartsLater(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	for i := range pagedCount {
		untilRead(ctx, t, client, "configmaps", write.create(pagedName(i), nil))
	}
	requests := map[string]*kubeconnectv1.ListRequest{
		"in the default order": {},
		"sorted":               {OrderBy: "metadata.name desc"},
		"filtered":             {Filter: "object.metadata.name.startsWith('paged')"},
	}
	firsts := map[string]*kubeconnectv1.ListResponse{}
	for name, request := range requests {
		request.Resource, request.Namespace, request.PageSize = "configmaps", namespace, pagedSize
		first, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		firsts[name] = first
	}
	for i := range pagedCount / 2 {
		write.delete(pagedName(2 * i))
	}
	last := write.touch(pagedName(1), "changed")
	later := newClient(t, cluster(t))
	untilRead(ctx, t, later, "configmaps", last)
	for name, request := range requests {
		request.PageToken = firsts[name].GetNextPageToken()
		var listed []string
		for _, object := range slices.Concat(firsts[name].GetObjects(), listAll(ctx, t, later, request)) {
			listed = append(listed, object.GetName()+" "+object.GetResourceVersion())
		}
		held := slices.DeleteFunc(heldAt(ctx, t, cluster(t), namespace, firsts[name].GetResourceVersion()), func(object string) bool {
			return name == "filtered" && object[:5] != "paged"
		})
		if slices.Sort(listed); !slices.Equal(listed, held) {
			t.Errorf("%s: pages\n%v\nAPI server\n%v", name, listed, held)
		}
	}
}
