package scenarios_test

import (
	"slices"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestScenario17_ApplyConflictNamesFieldsAndForceTakesThem(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	apply := func(manager, value string) *kubeconnectv1.PatchRequest {
		return withValue(t, &kubeconnectv1.PatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: "shared",
			Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: manager,
		}, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "shared"},
			"data": map[string]any{"one": value, "two": value},
		})
	}
	kit.Patch(ctx, t, client, apply("first-manager", "first"))
	before := write.Get("shared")

	_, err := client.Patch(ctx, apply("second-manager", "second"))
	kit.WantError(t, err, connect.CodeAborted, "first-manager")
	status := kit.WantStatus(t, err, "Conflict")
	var fields []string
	for _, cause := range status.GetCauses() {
		fields = append(fields, cause.GetField())
		if cause.GetReason() != "FieldManagerConflict" {
			t.Errorf("reason of a cause: %q", cause.GetReason())
		}
		kit.WantWords(t, cause.GetMessage(), "first-manager")
	}
	if !slices.Equal(slices.Sorted(slices.Values(fields)), []string{".data.one", ".data.two"}) {
		t.Errorf("fields of the causes: %q", fields)
	}
	kit.WantUnchanged(t, write, before)

	forced := apply("second-manager", "second")
	forced.Force = true
	wantData(t, kit.Patch(ctx, t, client, forced), write, kit.Labels{"one": "second", "two": "second"})
}

func TestScenario17_DryRunReturnsTheResultAndChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("one", nil)

	answer := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "one",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE, DryRun: true,
	}, `{"data":{"key":"tried"}}`))

	data := answer.GetObject().GetStruct().GetFields()["data"].GetStructValue().GetFields()
	if got := data["key"].GetStringValue(); got != "tried" {
		t.Errorf("the response has %q", got)
	}
	kit.WantUnchanged(t, write, before)
}

func TestScenario17_RejectedPatchReturnsAReasonAndChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("one", nil)
	for name, test := range map[string]struct {
		patchType kubeconnectv1.PatchType
		change    func(*kubeconnectv1.PatchRequest)
		body      string
		code      connect.Code
		reason    string
		words     []string
	}{
		"a JSON patch whose test fails": {
			patchType: kubeconnectv1.PatchType_PATCH_TYPE_JSON,
			body:      `[{"op":"test","path":"/data/key","value":"other"},{"op":"remove","path":"/data/key"}]`,
			code:      connect.CodeInvalidArgument, reason: "Invalid", words: []string{`ConfigMap "one" is invalid`, `a "test" failed`},
		},
		"an outdated resource version": {
			patchType: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
			body:      `{"metadata":{"resourceVersion":"1"},"data":{"key":"late"}}`,
			code:      connect.CodeAborted, reason: "Conflict", words: []string{"one"},
		},
		"an invalid value": {
			patchType: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
			body:      `{"data":{"no/such key":"x"}}`,
			code:      connect.CodeInvalidArgument, reason: "Invalid", words: []string{"no/such key"},
		},
		"an unknown field under strict validation": {
			patchType: kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE,
			change: func(request *kubeconnectv1.PatchRequest) {
				request.FieldValidation = kubeconnectv1.FieldValidation_FIELD_VALIDATION_STRICT
			},
			body: `{"dada":{"key":"x"}}`,
			code: connect.CodeInvalidArgument, reason: "Invalid", words: []string{"dada"},
		},
		"a missing object": {
			patchType: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
			change:    func(request *kubeconnectv1.PatchRequest) { request.Name = "absent" },
			body:      `{"data":{"key":"x"}}`,
			code:      connect.CodeNotFound, reason: "NotFound", words: []string{"absent"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			request := kit.WithData(&kubeconnectv1.PatchRequest{
				Resource: "configmaps", Namespace: namespace, Name: "one", Type: test.patchType,
			}, test.body)
			if test.change != nil {
				test.change(request)
			}
			_, err := client.Patch(ctx, request)
			kit.WantError(t, err, test.code, test.words...)
			kit.WantStatus(t, err, test.reason)
			kit.WantUnchanged(t, write, before)
		})
	}
}

func TestScenario17_UnknownFieldCausesAWarning(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	answer := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "one",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, `{"dada":{"key":"x"}}`))
	if len(answer.GetWarnings()) != 1 {
		t.Fatalf("warnings %q", answer.GetWarnings())
	}
	kit.WantWords(t, answer.GetWarnings()[0], "dada")
}

func TestScenario17_StrategicMergeOfACustomResourceIsRejected(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	before := gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	request := func(patchType kubeconnectv1.PatchType) *kubeconnectv1.PatchRequest {
		return kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: gadgets.Name(), Namespace: namespace, Name: "one", Type: patchType,
		}, `{"spec":{"color":"blue"}}`)
	}
	kit.UntilListed(ctx, t, client, gadgets)

	_, err := client.Patch(ctx, request(kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE))
	kit.WantError(t, err, connect.CodeInvalidArgument, "PATCH_TYPE_MERGE")
	kit.WantStatus(t, err, "UnsupportedMediaType")
	if now := gadgets.Get("v1", namespace, "one"); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the rejected patch has changed the object")
	}
	kit.Patch(ctx, t, client, request(kubeconnectv1.PatchType_PATCH_TYPE_MERGE))
	if now := gadgets.Get("v1", namespace, "one"); now.GetResourceVersion() == before.GetResourceVersion() {
		t.Error("the merge patch has not changed the object")
	}
}
