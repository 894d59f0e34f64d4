package queries_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestWatchPatches_ApplyToObjectsThatAStructCannotHold watches an object that is sent as JSON,
// although Structs are requested.
func TestWatchPatches_ApplyToObjectsThatAStructCannotHold(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	numbers := make([]any, 300_000) // 0.6 MB as JSON, 3 MB as a Struct
	for i := range numbers {
		numbers[i] = int64(i % 10)
	}
	gadgets.Create("v1", namespace, "large", map[string]any{"numbers": numbers})
	kit.UntilListed(ctx, t, client, gadgets)
	request := watchInPatches(gadgets.Name(), namespace, patchForm{kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE, 0})
	stream := record.Watch(t, client, request)
	stream.Synced(ctx)
	version := ""
	for _, color := range []string{"red", "blue"} {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"color":%q}}}`, color)
		changed, err := gadgets.Objects("v1", namespace).Patch(ctx, "large", types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version = changed.GetResourceVersion()
	}
	view := stream.Reaches(ctx, version)
	if view.Patches != 2 {
		t.Errorf("%d changes were sent as patches", view.Patches)
	}
	wantHeldAsListed(ctx, t, client, request, view.Model)
}
