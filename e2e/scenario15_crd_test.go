package e2e_test

import (
	"context"
	"maps"
	"testing"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario15_WatchFollowsTheLifeOfADefinition(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	_, err := listGadgets(ctx, client, gadgets)
	wantError(t, err, connect.CodeNotFound, gadgets.name())

	gadgets.define("v1")
	untilListed(ctx, t, client, gadgets)
	watch := func(resource string) *record.Stream {
		return record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace})
	}
	stream, pinned := watch(gadgets.name()), watch("gadgets.v1."+gadgets.group)
	stream.Synced(ctx)
	pinned.Synced(ctx)
	one := gadgets.create("v1", namespace, "one", map[string]any{"color": "red"})
	untilHeld(ctx, stream, versionsOf(one))

	gadgets.serve([]string{"v1", "v2"}, nil)
	two := gadgets.create("v2", namespace, "two", map[string]any{"color": "green"})
	untilHeld(ctx, stream, versionsOf(one, two))

	gadgets.serve([]string{"v2"}, []string{"v1"})
	three := gadgets.create("v2", namespace, "three", map[string]any{"color": "blue"})
	untilHeldAs(ctx, stream, "v2", versionsOf(one, two, three))
	wantError(t, pinned.End(ctx), connect.CodeNotFound, "v1")

	gadgets.remove()
	stream.Until(ctx, "the client has no objects", func(view *record.View) bool { return len(view.Model.Objects) == 0 })
	eventually(ctx, t, "the resource is unknown", func() error {
		_, err := listGadgets(ctx, client, gadgets)
		return hasCode(err, connect.CodeNotFound)
	})

	gadgets.define("v1")
	four := gadgets.create("v1", namespace, "four", nil)
	continuesOrEndsWithNotFound(ctx, t, stream, versionsOf(four))
	untilListed(ctx, t, client, gadgets)
}

// continuesOrEndsWithNotFound accepts both results: a watch whose resource was deleted may end, or
// wait until the resource is recreated.
func continuesOrEndsWithNotFound(ctx context.Context, t *testing.T, stream *record.Stream, want versions) {
	t.Helper()
	view := stream.Until(ctx, "the watch has ended or continued", func(view *record.View) bool {
		return view.Ended || view.Model.Synced && maps.Equal(heldVersions(view.Model), want)
	})
	t.Logf("the watch ended: %v", view.Ended)
	if view.Ended {
		wantError(t, stream.End(ctx), connect.CodeNotFound)
	}
}

func listGadgets(ctx context.Context, client resourceClient, gadgets customResource) (*kubeconnectv1.ListResponse, error) {
	return client.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.name()})
}

func untilListed(ctx context.Context, t *testing.T, client resourceClient, gadgets customResource) {
	t.Helper()
	eventually(ctx, t, "the service serves the resource", func() error {
		_, err := listGadgets(ctx, client, gadgets)
		return err
	})
}

// untilHeldAs blocks until the client has these objects in an API version.
func untilHeldAs(ctx context.Context, stream *record.Stream, version string, want versions) {
	stream.Until(ctx, "the client has all objects in version "+version, func(view *record.View) bool {
		if view.Kind.GetVersion() != version || !view.Model.Synced || !maps.Equal(heldVersions(view.Model), want) {
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
