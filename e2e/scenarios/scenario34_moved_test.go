package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// gadgetCalls returns calls of each kind that reads or changes the gadget "one".
func gadgetCalls(clients harness.Clients, gadgets kit.CustomResource, version, namespace string) map[string]func(context.Context) error {
	client, name := clients.Resources, gadgets.Name()
	body := fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":"Gadget","metadata":{"name":"new","namespace":%q},"spec":{"color":"red"}}`, gadgets.Group, version, namespace)
	return map[string]func(context.Context) error{
		"Get":             kit.ErrorOf(client.Get, &kubeconnectv1.GetRequest{Resource: name, Namespace: namespace, Name: "one"}),
		"Get latest":      kit.ErrorOf(client.Get, &kubeconnectv1.GetRequest{Resource: name, Namespace: namespace, Name: "one", Consistency: kit.Latest}),
		"Get status":      kit.ErrorOf(client.Get, &kubeconnectv1.GetRequest{Resource: name, Namespace: namespace, Name: "one", Subresource: "status"}),
		"List":            kit.ErrorOf(client.List, &kubeconnectv1.ListRequest{Resource: name, Namespace: namespace}),
		"List latest":     kit.ErrorOf(client.List, &kubeconnectv1.ListRequest{Resource: name, Namespace: namespace, Consistency: kit.Latest}),
		"Count":           kit.ErrorOf(client.Count, &kubeconnectv1.CountRequest{Resource: name, Namespace: namespace}),
		"GetTable":        kit.ErrorOf(client.GetTable, &kubeconnectv1.GetTableRequest{Resource: name, Namespace: namespace}),
		"GetTable of one": kit.ErrorOf(client.GetTable, &kubeconnectv1.GetTableRequest{Resource: name, Namespace: namespace, Name: "one"}),
		"Watch": func(ctx context.Context) error {
			return kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: name, Namespace: namespace})
		},
		"Watch of one": func(ctx context.Context) error {
			return kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: name, Namespace: namespace, Name: "one"})
		},
		"Patch": kit.ErrorOf(client.Patch, kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: name, Namespace: namespace, Name: "one", Type: kit.MergePatch,
		}, `{"spec":{"size":1}}`)),
		"Patch status": kit.ErrorOf(client.Patch, kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: name, Namespace: namespace, Name: "one", Subresource: "status", Type: kit.MergePatch,
		}, `{"status":{"phase":"Ready"}}`)),
		"Create": kit.ErrorOf(client.Create, &kubeconnectv1.CreateRequest{
			Resource: name, Body: &kubeconnectv1.CreateRequest_Data{Data: body},
		}),
		"Delete":           kit.ErrorOf(client.Delete, &kubeconnectv1.DeleteRequest{Resource: name, Namespace: namespace, Name: "doomed"}),
		"DeleteCollection": kit.ErrorOf(client.DeleteCollection, &kubeconnectv1.DeleteCollectionRequest{Resource: name, Namespace: namespace, LabelSelector: "none=such"}),
		"GetSchema":        kit.ErrorOf(clients.Discovery.GetSchema, &kubeconnectv1.GetSchemaRequest{Resource: name}),
	}
}

// resolvedService starts a service that has resolved the gadgets, and caches none of them.
func resolvedService(ctx context.Context, t *testing.T, gadgets kit.CustomResource, namespace string) harness.Clients {
	t.Helper()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	clients := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect)
	_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.Name(), Namespace: namespace, Consistency: kit.Latest})
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// callEach makes each call as the first one of a service that resolved the gadgets before a test
// changed their definition.
func callEach(ctx context.Context, t *testing.T, gadgets kit.CustomResource, before, version, namespace string, change func()) {
	t.Helper()
	var services []harness.Clients
	names := slices.Sorted(maps.Keys(gadgetCalls(resolvedService(ctx, t, gadgets, before), gadgets, version, namespace)))
	for range names {
		services = append(services, resolvedService(ctx, t, gadgets, before))
	}
	change()
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			if err := gadgetCalls(services[i], gadgets, version, namespace)[name](kit.Deadline(t)); err != nil {
				t.Errorf("the first call returns %v", err)
			}
		})
	}
}

func TestScenario34_MovedDefinitionIsServedAtTheNextCall(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	gadgets.Create("v1", namespace, "doomed", nil)
	gadgets.UntilDiscovered("v1", true)
	callEach(ctx, t, gadgets, namespace, "v2", namespace, func() {
		gadgets.Serve([]string{"v2"}, []string{"v1"})
		gadgets.UntilDiscovered("v2", true)
		untilPublished(ctx, t, gadgets, "v2")
	})
}

func TestScenario34_RescopedDefinitionIsServedAtTheNextCall(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.UntilDiscovered("v1", true)
	callEach(ctx, t, gadgets, namespace, "v1", "", func() {
		gadgets.Remove()
		gadgets.DefineClusterScoped()
		gadgets.UntilDiscovered("v1", false)
		untilPublished(ctx, t, gadgets, "v1")
		gadgets.Create("v1", "", "one", map[string]any{"color": "red"})
		gadgets.Create("v1", "", "doomed", nil)
	})
	t.Run("the kind", func(t *testing.T) {
		list, err := resolvedService(ctx, t, gadgets, "").Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.Name()})
		if err != nil || list.GetResource().GetNamespaced() {
			t.Errorf("List returns kind %v, %v", list.GetResource(), err)
		}
	})
}

func TestScenario34_RecreatedDefinitionLeavesNoOldObjects(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	kit.UntilListed(ctx, t, client, gadgets)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: gadgets.Name()})
	stream.Synced(ctx)
	one := gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilHeld(ctx, stream, kit.VersionsOf(one))

	gadgets.Remove()
	gadgets.DefineClusterScoped()
	recreated := gadgets.Create("v1", "", "again", map[string]any{"color": "blue"})
	continuesOrEndsWithNotFound(ctx, t, stream, kit.VersionsOf(recreated))
	kit.Eventually(ctx, t, "the new definition's objects are served, in their scope", func() error {
		list, err := kit.ListGadgets(ctx, client, gadgets)
		if err != nil {
			return err
		}
		if list.GetResource().GetNamespaced() || len(list.GetObjects()) != 1 || list.GetObjects()[0].GetUid() != string(recreated.GetUID()) {
			return fmt.Errorf("List returns %v of kind %v", list.GetObjects(), list.GetResource())
		}
		_, err = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: gadgets.Name(), Name: "again"})
		return err
	})
}

func TestScenario34_SchemaDefaultReachesWatchesAndLists(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	one := gadgets.Create("v1", namespace, "one", map[string]any{"size": "small"})
	two := gadgets.Create("v1", namespace, "two", map[string]any{"color": "red"})
	kit.UntilListed(ctx, t, client, gadgets)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: gadgets.Name(), Namespace: namespace})
	stream.Synced(ctx)
	kit.UntilHeld(ctx, stream, kit.VersionsOf(one, two))

	gadgets.Patch(types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color/default","value":"green"}]`))
	view := stream.Until(ctx, "the default is delivered", func(view *record.View) bool {
		for key, object := range view.Model.Objects {
			if key.Name == "one" && colorOf(object) == "green" {
				return object.GetResourceVersion() == one.GetResourceVersion()
			}
		}
		return false
	})
	if now := gadgets.Get("v1", namespace, "one"); now.GetResourceVersion() != one.GetResourceVersion() {
		t.Fatalf("the object has the new version %s", now.GetResourceVersion())
	}
	if view.Model.Resets == 1 {
		for _, event := range record.AfterSnapshot(view.Events) {
			if object := event.GetObject(); object.GetName() == "two" {
				t.Errorf("an object whose content has not changed is sent again: %v", event)
			}
		}
	}
	list, err := kit.ListGadgets(ctx, client, gadgets)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range list.GetObjects() {
		if want := map[string]string{"one": "green", "two": "red"}[object.GetName()]; colorOf(object) != want {
			t.Errorf("%s is listed with the color %q, want %q", object.GetName(), colorOf(object), want)
		}
	}
	touched, err := gadgets.Objects("v1", namespace).Patch(ctx, "one", types.MergePatchType, []byte(`{"spec":{"color":"blue"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kit.UntilHeld(ctx, stream, kit.VersionsOf(touched, two))
}

func colorOf(object *kubeconnectv1.Object) string {
	return object.GetStruct().GetFields()["spec"].GetStructValue().GetFields()["color"].GetStringValue()
}

func TestScenario34_PinnedWatchEndsWhenItsVersionIsRemoved(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	kit.UntilListed(ctx, t, client, gadgets)
	pinned := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "gadgets.v1." + gadgets.Group, Namespace: namespace})
	pinned.Synced(ctx)
	gadgets.Serve([]string{"v2"}, []string{"v1"})
	kit.WantError(t, pinned.End(ctx), connect.CodeNotFound, "v1")
}

// untilPublished blocks until the API server publishes the schema of a version.
func untilPublished(ctx context.Context, t *testing.T, gadgets kit.CustomResource, version string) {
	t.Helper()
	kit.Eventually(ctx, t, "the schema is published", func() error {
		text, err := gadgets.ControlPlane.Client.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/"+gadgets.Group+"/"+version).
			SetHeader("Accept", "application/json").Do(ctx).Raw()
		if err == nil && len(text) == 0 {
			err = fmt.Errorf("the document is empty")
		}
		return err
	})
}
