package e2e_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// customResource is a kind "Gadget" of a group of its own, which a test defines and changes.
type customResource struct {
	ctx          context.Context
	t            *testing.T
	controlPlane *harness.Cluster
	group        string
}

// newCustomResource returns one in a group that is named after the test's namespace.
func newCustomResource(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) customResource {
	return customResource{ctx: ctx, t: t, controlPlane: controlPlane, group: namespace + ".example.com"}
}

// name returns the resource in kubectl's syntax.
func (c customResource) name() string { return "gadgets." + c.group }

// define creates the CRD with these versions served, the last of them stored.
func (c customResource) define(versions ...string) {
	c.t.Helper()
	_, err := c.controlPlane.Dynamic.Resource(crdResource).Create(c.ctx, c.definition(versions, nil), metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.untilServed(versions[len(versions)-1])
}

// serve changes the served versions; the last of them is stored. The retired versions stay defined.
func (c customResource) serve(versions, retired []string) {
	c.t.Helper()
	eventually(c.ctx, c.t, "the definition is changed", func() error {
		now, err := c.controlPlane.Dynamic.Resource(crdResource).Get(c.ctx, c.name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed := c.definition(versions, retired)
		changed.SetResourceVersion(now.GetResourceVersion())
		_, err = c.controlPlane.Dynamic.Resource(crdResource).Update(c.ctx, changed, metav1.UpdateOptions{})
		return err
	})
	c.untilServed(versions[len(versions)-1])
}

// remove deletes the CRD and blocks until it and its objects are deleted.
func (c customResource) remove() {
	c.t.Helper()
	definitions := c.controlPlane.Dynamic.Resource(crdResource)
	if err := definitions.Delete(c.ctx, c.name(), metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.ctx, c.t, "the definition is deleted", func() error {
		_, err := definitions.Get(c.ctx, c.name(), metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("%s still exists", c.name())
		}
		return ignoreNotFound(err)
	})
}

func (c customResource) untilServed(version string) {
	c.t.Helper()
	eventually(c.ctx, c.t, "version "+version+" is served", func() error {
		_, err := c.objects(version, "").List(c.ctx, metav1.ListOptions{})
		return err
	})
}

// objects returns a client for the gadgets of a namespace.
func (c customResource) objects(version, namespace string) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Group: c.group, Version: version, Resource: "gadgets"}
	return c.controlPlane.Dynamic.Resource(resource).Namespace(namespace)
}

// create creates a gadget with a spec.
func (c customResource) create(version, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	c.t.Helper()
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": c.group + "/" + version,
		"kind":       "Gadget",
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}}
	created, err := c.objects(version, namespace).Create(c.ctx, gadget, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return created
}

func (c customResource) get(version, namespace, name string) *unstructured.Unstructured {
	c.t.Helper()
	now, err := c.objects(version, namespace).Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return now
}

func (c customResource) definition(served, retired []string) *unstructured.Unstructured {
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
		"metadata":   map[string]any{"name": c.name()},
		"spec": map[string]any{
			"group":    c.group,
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

// describe changes the description of its first version.
func (c customResource) describe(as string) {
	c.t.Helper()
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":%q}]`, as)
	c.patch(types.JSONPatchType, patch)
}

// renameShort changes the short name.
func (c customResource) renameShort(shortName string) {
	c.t.Helper()
	c.patch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"names":{"shortNames":[%q]}}}`, shortName))
}

func (c customResource) patch(as types.PatchType, patch []byte) {
	c.t.Helper()
	if _, err := c.controlPlane.Dynamic.Resource(crdResource).Patch(c.ctx, c.name(), as, patch, metav1.PatchOptions{}); err != nil {
		c.t.Fatal(err)
	}
}
