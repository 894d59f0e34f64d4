package scenarios_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario14_CustomResourcesAreSelectedByDeclaredFields(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	red := gadgets.Create("v1", namespace, "one", map[string]any{"color": "red", "size": "large"})
	kit.UntilRead(ctx, t, client, gadgets.Name(), red)
	watch := func(selector string) *record.Stream {
		stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
			Resource: gadgets.Name(), Namespace: namespace, FieldSelector: selector,
		})
		stream.Synced(ctx)
		return stream
	}
	isRed, isNotRed := watch("spec.color=red"), watch("spec.color!=red,metadata.name!=last")
	kit.WantSnapshot(t, isRed, kit.Added(red))
	kit.WantSnapshot(t, isNotRed)

	blue := gadgets.Recolor(red, "blue")
	back := gadgets.Recolor(blue, "red")
	last := gadgets.Create("v1", namespace, "last", nil)

	kit.WantChanges(t, isRed.Reaches(ctx, last.GetResourceVersion()), kit.Deleted(red), kit.Added(back))
	kit.WantChanges(t, isNotRed.Reaches(ctx, last.GetResourceVersion()), kit.Added(blue), kit.Deleted(blue))
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.Name(), FieldSelector: "spec.size=large"})
	kit.WantError(t, err, connect.CodeInvalidArgument, "field label not supported: spec.size")
}
