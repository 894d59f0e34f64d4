package writes_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPatch_WrongTypesAreTheCallersError sends values of wrong types in patches of a
// built-in kind and of a custom resource. The errors must name the object and the field.
func TestPatch_WrongTypesAreTheCallersError(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	createIdleDeployment(ctx, t, namespace, "one", "")
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	const strategicPatch = kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE
	const deployment, invalid = "deployments.apps", `Deployment.apps "one" is invalid`
	head := func(apiVersion, kind string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"one"},`
	}
	for name, test := range map[string]struct {
		resource string
		kind     kubeconnectv1.PatchType
		body     string
		reason   string
		words    []string
	}{
		"merge":               {deployment, kit.MergePatch, `{"spec":{"replicas":"3"}}`, "Invalid", []string{invalid, "spec.replicas", "int32"}},
		"strategic":           {deployment, strategicPatch, `{"spec":{"replicas":"3"}}`, "Invalid", []string{invalid, "int32"}},
		"JSON":                {deployment, jsonPatch, `[{"op":"replace","path":"/spec/replicas","value":"3"}]`, "Invalid", []string{invalid, "spec.replicas"}},
		"apply":               {deployment, applyPatch, head("apps/v1", "Deployment") + `"spec":{"replicas":"3"}}`, "Invalid", []string{invalid, ".spec.replicas: expected numeric"}},
		"apply, a map":        {deployment, applyPatch, head("apps/v1", "Deployment") + `"spec":"x"}`, "Invalid", []string{invalid, ".spec: expected map, got x"}},
		"apply, unknown":      {deployment, applyPatch, head("apps/v1", "Deployment") + `"spec":{"nosuch":1}}`, "Invalid", []string{invalid, ".spec.nosuch: field not declared"}},
		"apply, no kind":      {deployment, applyPatch, `{"spec":{}}`, "BadRequest", []string{`apiVersion "apps/v1"`, `kind "Deployment"`}},
		"apply, another kind": {deployment, applyPatch, head("v1", "ConfigMap") + `"data":{}}`, "BadRequest", []string{`kind "Deployment"`}},
		"a missing path":      {deployment, jsonPatch, `[{"op":"remove","path":"/spec/nosuch"}]`, "Invalid", []string{invalid, "a path is not there"}},
		"custom, merge":       {gadgets.Name(), kit.MergePatch, `{"metadata":{"labels":{"a":1}}}`, "Invalid", []string{`"one" is invalid`, "labels"}},
		"custom, apply":       {gadgets.Name(), applyPatch, head(gadgets.Group+"/v1", "Gadget") + `"spec":"x"}`, "Invalid", []string{`"one" is invalid`, ".spec: expected map"}},
		"custom, strategic":   {gadgets.Name(), strategicPatch, `{"spec":{}}`, "UnsupportedMediaType", []string{"PATCH_TYPE_MERGE"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := kit.WithData(&kubeconnectv1.PatchRequest{Resource: test.resource, Namespace: namespace, Name: "one", Type: test.kind}, test.body)
			if test.kind == applyPatch {
				request.FieldManager = "e2e"
			}
			_, err := client.Patch(ctx, request)
			kit.WantError(t, err, connect.CodeInvalidArgument, test.words...)
			if status := kit.WantStatus(t, err, test.reason); test.reason == "Invalid" && status.GetName() != "one" {
				t.Errorf("name in the status: %q", status.GetName())
			}
		})
	}
	_, err := client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: namespace, PageToken: "x"})
	kit.WantError(t, err, connect.CodeInvalidArgument, "page_token is not one of a table")
	_, err = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "deployments/scale"})
	kit.WantError(t, err, connect.CodeNotFound, "in the field subresource")
}
