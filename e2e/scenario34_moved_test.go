package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"connectrpc.com/connect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// untilDiscovered blocks until the API server's own discovery serves the resource exactly in this
// version, with this scope.
func (c customResource) untilDiscovered(version string, namespaced bool) {
	c.t.Helper()
	eventually(c.ctx, c.t, "discovery serves the new definition", func() error {
		_, lists, err := c.controlPlane.Client.Discovery().ServerGroupsAndResources()
		if err != nil {
			return err
		}
		var found []string
		for _, list := range lists {
			for _, resource := range list.APIResources {
				if resource.Name == "gadgets" && resource.Namespaced == namespaced {
					found = append(found, list.GroupVersion)
				}
			}
		}
		found = slices.DeleteFunc(found, func(groupVersion string) bool {
			return groupVersion != c.group+"/v1" && groupVersion != c.group+"/v2"
		})
		if !slices.Equal(found, []string{c.group + "/" + version}) {
			return fmt.Errorf("gadgets are served in %q", found)
		}
		return nil
	})
}

// gadgetCalls returns calls of each kind that reads or changes the gadget "one".
func gadgetCalls(clients harness.Clients, gadgets customResource, version, namespace string) map[string]func(context.Context) error {
	client, name := clients.Resources, gadgets.name()
	body := fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":"Gadget","metadata":{"name":"new","namespace":%q},"spec":{"color":"red"}}`, gadgets.group, version, namespace)
	return map[string]func(context.Context) error{
		"Get":             method(client.Get, &kubeconnectv1.GetRequest{Resource: name, Namespace: namespace, Name: "one"}),
		"Get latest":      method(client.Get, &kubeconnectv1.GetRequest{Resource: name, Namespace: namespace, Name: "one", Consistency: latest}),
		"Get status":      method(client.Get, &kubeconnectv1.GetRequest{Resource: name, Namespace: namespace, Name: "one", Subresource: "status"}),
		"List":            method(client.List, &kubeconnectv1.ListRequest{Resource: name, Namespace: namespace}),
		"List latest":     method(client.List, &kubeconnectv1.ListRequest{Resource: name, Namespace: namespace, Consistency: latest}),
		"CountObjects":    method(client.CountObjects, &kubeconnectv1.CountObjectsRequest{Resource: name, Namespace: namespace}),
		"GetTable":        method(client.GetTable, &kubeconnectv1.GetTableRequest{Resource: name, Namespace: namespace}),
		"GetTable of one": method(client.GetTable, &kubeconnectv1.GetTableRequest{Resource: name, Namespace: namespace, Name: "one"}),
		"Watch": func(ctx context.Context) error {
			return watchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: name, Namespace: namespace})
		},
		"Watch of one": func(ctx context.Context) error {
			return watchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: name, Namespace: namespace, Name: "one"})
		},
		"Patch": method(client.Patch, withData(&kubeconnectv1.PatchRequest{
			Resource: name, Namespace: namespace, Name: "one", Type: mergePatch,
		}, `{"spec":{"size":1}}`)),
		"Patch status": method(client.Patch, withData(&kubeconnectv1.PatchRequest{
			Resource: name, Namespace: namespace, Name: "one", Subresource: "status", Type: mergePatch,
		}, `{"status":{"phase":"Ready"}}`)),
		"Create": method(client.Create, &kubeconnectv1.CreateRequest{
			Resource: name, Body: &kubeconnectv1.CreateRequest_Data{Data: body},
		}),
		"Delete":           method(client.Delete, &kubeconnectv1.DeleteRequest{Resource: name, Namespace: namespace, Name: "doomed"}),
		"DeleteCollection": method(client.DeleteCollection, &kubeconnectv1.DeleteCollectionRequest{Resource: name, Namespace: namespace, LabelSelector: "none=such"}),
		"GetSchema":        method(clients.Discovery.GetSchema, &kubeconnectv1.GetSchemaRequest{Resource: name}),
	}
}

// resolvedService starts a service that has resolved the gadgets, and caches none of them.
func resolvedService(ctx context.Context, t *testing.T, gadgets customResource, namespace string) harness.Clients {
	t.Helper()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	clients := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect)
	_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.name(), Namespace: namespace, Consistency: latest})
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// callEach makes each call as the first one of a service that resolved the gadgets before a test
// changed their definition.
func callEach(ctx context.Context, t *testing.T, gadgets customResource, before, version, namespace string, change func()) {
	t.Helper()
	var services []harness.Clients
	names := slices.Sorted(maps.Keys(gadgetCalls(resolvedService(ctx, t, gadgets, before), gadgets, version, namespace)))
	for range names {
		services = append(services, resolvedService(ctx, t, gadgets, before))
	}
	change()
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			if err := gadgetCalls(services[i], gadgets, version, namespace)[name](deadline(t)); err != nil {
				t.Errorf("the first call returns %v", err)
			}
		})
	}
}

func TestScenario34_MovedDefinitionIsServedAtTheNextCall(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	gadgets.create("v1", namespace, "one", map[string]any{"color": "red"})
	gadgets.create("v1", namespace, "doomed", nil)
	gadgets.untilDiscovered("v1", true)
	callEach(ctx, t, gadgets, namespace, "v2", namespace, func() {
		gadgets.serve([]string{"v2"}, []string{"v1"})
		gadgets.untilDiscovered("v2", true)
		untilPublished(ctx, t, gadgets, "v2")
	})
}

func TestScenario34_RescopedDefinitionIsServedAtTheNextCall(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	gadgets.untilDiscovered("v1", true)
	callEach(ctx, t, gadgets, namespace, "v1", "", func() {
		gadgets.remove()
		gadgets.defineClusterScoped()
		gadgets.untilDiscovered("v1", false)
		untilPublished(ctx, t, gadgets, "v1")
		gadgets.create("v1", "", "one", map[string]any{"color": "red"})
		gadgets.create("v1", "", "doomed", nil)
	})
	t.Run("the kind", func(t *testing.T) {
		list, err := resolvedService(ctx, t, gadgets, "").Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.name()})
		if err != nil || list.GetKind().GetNamespaced() {
			t.Errorf("List returns kind %v, %v", list.GetKind(), err)
		}
	})
}

func TestScenario34_RecreatedDefinitionLeavesNoOldObjects(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	untilListed(ctx, t, client, gadgets)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: gadgets.name()})
	stream.Synced(ctx)
	one := gadgets.create("v1", namespace, "one", map[string]any{"color": "red"})
	untilHeld(ctx, stream, versionsOf(one))

	gadgets.remove()
	gadgets.defineClusterScoped()
	recreated := gadgets.create("v1", "", "again", map[string]any{"color": "blue"})
	continuesOrEndsWithNotFound(ctx, t, stream, versionsOf(recreated))
	eventually(ctx, t, "the new definition's objects are served, in their scope", func() error {
		list, err := listGadgets(ctx, client, gadgets)
		if err != nil {
			return err
		}
		if list.GetKind().GetNamespaced() || len(list.GetObjects()) != 1 || list.GetObjects()[0].GetUid() != string(recreated.GetUID()) {
			return fmt.Errorf("List returns %v of kind %v", list.GetObjects(), list.GetKind())
		}
		_, err = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: gadgets.name(), Name: "again"})
		return err
	})
}

func TestScenario34_SchemaDefaultReachesWatchesAndLists(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	one := gadgets.create("v1", namespace, "one", map[string]any{"size": "small"})
	two := gadgets.create("v1", namespace, "two", map[string]any{"color": "red"})
	untilListed(ctx, t, client, gadgets)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: gadgets.name(), Namespace: namespace})
	stream.Synced(ctx)
	untilHeld(ctx, stream, versionsOf(one, two))

	gadgets.patch(types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color/default","value":"green"}]`))
	view := stream.Until(ctx, "the default is delivered", func(view *record.View) bool {
		for key, object := range view.Model.Objects {
			if key.Name == "one" && colorOf(object) == "green" {
				return object.GetResourceVersion() == one.GetResourceVersion()
			}
		}
		return false
	})
	if now := gadgets.get("v1", namespace, "one"); now.GetResourceVersion() != one.GetResourceVersion() {
		t.Fatalf("the object has the new version %s", now.GetResourceVersion())
	}
	if view.Model.Resets == 1 {
		for _, event := range record.AfterSnapshot(view.Events) {
			if object := event.GetObject(); object.GetName() == "two" {
				t.Errorf("an object whose content has not changed is sent again: %v", event)
			}
		}
	}
	list, err := listGadgets(ctx, client, gadgets)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range list.GetObjects() {
		if want := map[string]string{"one": "green", "two": "red"}[object.GetName()]; colorOf(object) != want {
			t.Errorf("%s is listed with the color %q, want %q", object.GetName(), colorOf(object), want)
		}
	}
	touched, err := gadgets.objects("v1", namespace).Patch(ctx, "one", types.MergePatchType, []byte(`{"spec":{"color":"blue"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	untilHeld(ctx, stream, versionsOf(touched, two))
}

func colorOf(object *kubeconnectv1.Object) string {
	return object.GetStruct().GetFields()["spec"].GetStructValue().GetFields()["color"].GetStringValue()
}

func TestScenario34_PinnedWatchEndsWhenItsVersionIsRemoved(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	untilListed(ctx, t, client, gadgets)
	pinned := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "gadgets.v1." + gadgets.group, Namespace: namespace})
	pinned.Synced(ctx)
	gadgets.serve([]string{"v2"}, []string{"v1"})
	wantError(t, pinned.End(ctx), connect.CodeNotFound, "v1")
}

// untilPublished blocks until the API server publishes the schema of a version.
func untilPublished(ctx context.Context, t *testing.T, gadgets customResource, version string) {
	t.Helper()
	eventually(ctx, t, "the schema is published", func() error {
		text, err := gadgets.controlPlane.Client.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/"+gadgets.group+"/"+version).
			SetHeader("Accept", "application/json").Do(ctx).Raw()
		if err == nil && len(text) == 0 {
			err = fmt.Errorf("the document is empty")
		}
		return err
	})
}

// defineClusterScoped creates the CRD with version v1, cluster-scoped.
func (c customResource) defineClusterScoped() {
	c.t.Helper()
	definition := c.definition([]string{"v1"}, nil)
	definition.Object["spec"].(map[string]any)["scope"] = "Cluster"
	if _, err := c.controlPlane.Dynamic.Resource(crdResource).Create(c.ctx, definition, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.untilServed("v1")
}
