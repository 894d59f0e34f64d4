package scenarios_test

import (
	"context"
	"maps"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario15_WatchFollowsTheLifeOfADefinition(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	_, err := kit.ListGadgets(ctx, client, gadgets)
	kit.WantError(t, err, connect.CodeNotFound, gadgets.Name())

	gadgets.Define("v1")
	kit.UntilListed(ctx, t, client, gadgets)
	watch := func(resource string) *record.Stream {
		return record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace})
	}
	stream, pinned := watch(gadgets.Name()), watch("gadgets.v1."+gadgets.Group)
	stream.Synced(ctx)
	pinned.Synced(ctx)
	one := gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilHeld(ctx, stream, kit.VersionsOf(one))

	gadgets.Serve([]string{"v1", "v2"}, nil)
	two := gadgets.Create("v2", namespace, "two", map[string]any{"color": "green"})
	kit.UntilHeld(ctx, stream, kit.VersionsOf(one, two))

	gadgets.Serve([]string{"v2"}, []string{"v1"})
	three := gadgets.Create("v2", namespace, "three", map[string]any{"color": "blue"})
	untilHeldAs(ctx, stream, "v2", kit.VersionsOf(one, two, three))
	kit.WantError(t, pinned.End(ctx), connect.CodeNotFound, "v1")

	gadgets.Remove()
	stream.Until(ctx, "the client has no objects", func(view *record.View) bool { return len(view.Model.Objects) == 0 })
	kit.Eventually(ctx, t, "the resource is unknown", func() error {
		_, err := kit.ListGadgets(ctx, client, gadgets)
		return kit.HasCode(err, connect.CodeNotFound)
	})

	gadgets.Define("v1")
	four := gadgets.Create("v1", namespace, "four", nil)
	continuesOrEndsWithNotFound(ctx, t, stream, kit.VersionsOf(four))
	kit.UntilListed(ctx, t, client, gadgets)
}

// continuesOrEndsWithNotFound accepts both results: a watch whose resource was deleted may end, or
// wait until the resource is recreated.
func continuesOrEndsWithNotFound(ctx context.Context, t *testing.T, stream *record.Stream, want kit.Versions) {
	t.Helper()
	view := stream.Until(ctx, "the watch has ended or continued", func(view *record.View) bool {
		return view.Ended || view.Model.Synced && maps.Equal(kit.HeldVersions(view.Model), want)
	})
	t.Logf("the watch ended: %v", view.Ended)
	if view.Ended {
		kit.WantError(t, stream.End(ctx), connect.CodeNotFound)
	}
}

// untilHeldAs blocks until the client has these objects in an API version.
func untilHeldAs(ctx context.Context, stream *record.Stream, version string, want kit.Versions) {
	stream.Until(ctx, "the client has all objects in version "+version, func(view *record.View) bool {
		if view.Kind.GetVersion() != version || !view.Model.Synced || !maps.Equal(kit.HeldVersions(view.Model), want) {
			return false
		}
		for _, object := range view.Model.Objects {
			apiVersion := object.GetStruct().GetFields()["apiVersion"].GetStringValue()
			if apiVersion != view.Kind.GetGroup()+"/"+version {
				return false
			}
		}
		return true
	})
}
