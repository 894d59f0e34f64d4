package kit

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// CreateGadget creates a gadget with this spec, and index as its label.
func CreateGadget(t *testing.T, gadgets CustomResource, namespace, name string, spec map[string]any, index string) *unstructured.Unstructured {
	t.Helper()
	return gadgets.create(t, "v1", namespace, map[string]any{"name": name, "labels": map[string]any{"index": index}}, spec)
}

// CRDResource is the resource of CustomResourceDefinitions.
var CRDResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// CustomResource is a kind "Gadget" of a group of its own, which a test defines and changes.
type CustomResource struct {
	ctx          context.Context
	T            *testing.T
	ControlPlane *harness.Cluster
	Group        string
}

// NewCustomResource returns one in a group that is named after the test's namespace.
func NewCustomResource(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) CustomResource {
	return CustomResource{ctx: ctx, T: t, ControlPlane: controlPlane, Group: namespace + ".example.com"}
}

// Name returns the resource in kubectl's syntax.
func (c CustomResource) Name() string { return "gadgets." + c.Group }

// Define creates the CRD with these versions served, the last of them stored.
func (c CustomResource) Define(versions ...string) {
	c.T.Helper()
	_, err := c.ControlPlane.Dynamic.Resource(CRDResource).Create(c.ctx, c.Definition(versions, nil), metav1.CreateOptions{})
	if err != nil {
		c.T.Fatal(err)
	}
	c.untilServed(versions[len(versions)-1])
}

// Serve changes the served versions; the last of them is stored. The retired versions stay defined.
func (c CustomResource) Serve(versions, retired []string) {
	c.T.Helper()
	Eventually(c.ctx, c.T, "the definition is changed", func() error {
		now, err := c.ControlPlane.Dynamic.Resource(CRDResource).Get(c.ctx, c.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed := c.Definition(versions, retired)
		changed.SetResourceVersion(now.GetResourceVersion())
		_, err = c.ControlPlane.Dynamic.Resource(CRDResource).Update(c.ctx, changed, metav1.UpdateOptions{})
		return err
	})
	c.untilServed(versions[len(versions)-1])
}

// Remove deletes the CRD and blocks until it and its objects are deleted.
func (c CustomResource) Remove() {
	c.T.Helper()
	definitions := c.ControlPlane.Dynamic.Resource(CRDResource)
	if err := definitions.Delete(c.ctx, c.Name(), metav1.DeleteOptions{}); err != nil {
		c.T.Fatal(err)
	}
	Eventually(c.ctx, c.T, "the definition is deleted", func() error {
		_, err := definitions.Get(c.ctx, c.Name(), metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("%s still exists", c.Name())
		}
		return IgnoreNotFound(err)
	})
}

func (c CustomResource) untilServed(version string) {
	c.T.Helper()
	Eventually(c.ctx, c.T, "version "+version+" is served", func() error {
		_, err := c.Objects(version, "").List(c.ctx, metav1.ListOptions{})
		return err
	})
}

// Objects returns a client for the gadgets of a namespace.
func (c CustomResource) Objects(version, namespace string) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Group: c.Group, Version: version, Resource: "gadgets"}
	return c.ControlPlane.Dynamic.Resource(resource).Namespace(namespace)
}

// Create creates a gadget with a spec.
func (c CustomResource) Create(version, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	c.T.Helper()
	return c.create(c.T, version, namespace, map[string]any{"name": name}, spec)
}

func (c CustomResource) create(t *testing.T, version, namespace string, metadata, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": c.Group + "/" + version,
		"kind":       "Gadget",
		"metadata":   metadata,
		"spec":       spec,
	}}
	objects := c.Objects(version, namespace)
	return Create(c.ctx, t,
		func() (*unstructured.Unstructured, error) {
			return objects.Create(c.ctx, gadget, metav1.CreateOptions{})
		},
		func() (*unstructured.Unstructured, error) {
			return objects.Get(c.ctx, gadget.GetName(), metav1.GetOptions{})
		})
}

// Get returns a gadget in an API version.
func (c CustomResource) Get(version, namespace, name string) *unstructured.Unstructured {
	c.T.Helper()
	now, err := c.Objects(version, namespace).Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		c.T.Fatal(err)
	}
	return now
}

// Definition returns the definition with these versions served and these not.
func (c CustomResource) Definition(served, retired []string) *unstructured.Unstructured {
	var versions []any
	for _, name := range retired {
		versions = append(versions, version(name, false, false))
	}
	for i, name := range served {
		versions = append(versions, version(name, true, i == len(served)-1))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": c.Name()},
		"spec": map[string]any{
			"group":    c.Group,
			"scope":    "Namespaced",
			"names":    map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": []any{"gd"}},
			"versions": versions,
		},
	}}
}

// version returns one version of the definition: it accepts any spec and status, supports
// spec.color in field selectors, and has the subresource status.
func version(name string, served, stored bool) map[string]any {
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	spec := map[string]any{
		"type":                                 "object",
		"x-kubernetes-preserve-unknown-fields": true,
		"properties":                           map[string]any{"color": map[string]any{"type": "string"}},
	}
	return map[string]any{
		"name": name, "served": served, "storage": stored,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{"spec": spec, "status": anything},
		}},
		"subresources":     map[string]any{"status": map[string]any{}},
		"selectableFields": []any{map[string]any{"jsonPath": ".spec.color"}},
	}
}

// Describe changes the description of its first version.
func (c CustomResource) Describe(as string) {
	c.T.Helper()
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":%q}]`, as)
	c.Patch(types.JSONPatchType, patch)
}

// RenameShort changes the short name.
func (c CustomResource) RenameShort(shortName string) {
	c.T.Helper()
	c.Patch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"names":{"shortNames":[%q]}}}`, shortName))
}

// Patch applies a patch to the definition.
func (c CustomResource) Patch(as types.PatchType, patch []byte) {
	c.T.Helper()
	if _, err := c.ControlPlane.Dynamic.Resource(CRDResource).Patch(c.ctx, c.Name(), as, patch, metav1.PatchOptions{}); err != nil {
		c.T.Fatal(err)
	}
}

// ListGadgets lists the gadgets of all namespaces through the service.
func ListGadgets(ctx context.Context, client ResourceClient, gadgets CustomResource) (*kubeconnectv1.ListResponse, error) {
	return client.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.Name()})
}

// UntilListed blocks until the service lists the gadgets.
func UntilListed(ctx context.Context, t *testing.T, client ResourceClient, gadgets CustomResource) {
	t.Helper()
	Eventually(ctx, t, "the service serves the resource", func() error {
		_, err := ListGadgets(ctx, client, gadgets)
		return err
	})
}

// Recolor updates the color of a gadget.
func (c CustomResource) Recolor(gadget *unstructured.Unstructured, color string) *unstructured.Unstructured {
	c.T.Helper()
	changed := gadget.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, color, "spec", "color"); err != nil {
		c.T.Fatal(err)
	}
	changed, err := c.Objects("v1", gadget.GetNamespace()).Update(c.ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		c.T.Fatal(err)
	}
	return changed
}

// UntilDiscovered blocks until the API server's own discovery serves the resource exactly in this
// version, with this scope.
func (c CustomResource) UntilDiscovered(version string, namespaced bool) {
	c.T.Helper()
	Eventually(c.ctx, c.T, "discovery serves the new definition", func() error {
		_, lists, err := c.ControlPlane.Client.Discovery().ServerGroupsAndResources()
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
			return groupVersion != c.Group+"/v1" && groupVersion != c.Group+"/v2"
		})
		if !slices.Equal(found, []string{c.Group + "/" + version}) {
			return fmt.Errorf("gadgets are served in %q", found)
		}
		return nil
	})
}

// DefineScalable is Define with the subresource scale.
func (c CustomResource) DefineScalable(versions ...string) {
	c.T.Helper()
	definition := c.Definition(versions, nil)
	for _, version := range definition.Object["spec"].(map[string]any)["versions"].([]any) {
		version.(map[string]any)["subresources"].(map[string]any)["scale"] = map[string]any{
			"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
		}
	}
	if _, err := c.ControlPlane.Dynamic.Resource(CRDResource).Create(c.ctx, definition, metav1.CreateOptions{}); err != nil {
		c.T.Fatal(err)
	}
	c.untilServed(versions[len(versions)-1])
}

// DefineClusterScoped creates the CRD with version v1, cluster-scoped.
func (c CustomResource) DefineClusterScoped() {
	c.T.Helper()
	definition := c.Definition([]string{"v1"}, nil)
	definition.Object["spec"].(map[string]any)["scope"] = "Cluster"
	if _, err := c.ControlPlane.Dynamic.Resource(CRDResource).Create(c.ctx, definition, metav1.CreateOptions{}); err != nil {
		c.T.Fatal(err)
	}
	c.untilServed("v1")
}
