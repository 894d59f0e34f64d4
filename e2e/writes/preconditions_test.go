package writes_test

import (
	"context"
	"fmt"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPatch_ChecksPreconditions patches objects in every form under preconditions, some of
// which are not met.
func TestPatch_ChecksPreconditions(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	for sort, resource := range kit.WritableResources(ctx, t, namespace) {
		resource.Create(ctx, t, client, namespace, resource.Object("one", "red"))
		for form, request := range patchesOf(resource) {
			t.Run(sort+" by "+form, func(t *testing.T) {
				request.Resource, request.Namespace, request.Name = resource.Name, namespace, "one"
				patchUnderPreconditions(ctx, t, client, resource, request)
			})
		}
	}
}

// patchesOf returns patches that change a color to blue, in every form.
func patchesOf(resource kit.Writable) map[string]*kubeconnectv1.PatchRequest {
	merge := fmt.Sprintf(`{%q:{"color":"blue"}}`, resource.Content)
	patches := map[string]*kubeconnectv1.PatchRequest{
		"merge":               kit.WithData(&kubeconnectv1.PatchRequest{Type: kit.MergePatch}, merge),
		"merge with metadata": kit.WithData(&kubeconnectv1.PatchRequest{Type: kit.MergePatch}, merge[:len(merge)-1]+`,"metadata":{}}`),
		"JSON patch": kit.WithData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_JSON},
			fmt.Sprintf(`[{"op":"replace","path":"/%s/color","value":"blue"}]`, resource.Content)),
		"apply in YAML": kit.WithData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "test", Force: true},
			fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: one\n%s:\n  color: blue\n", resource.Kind.GroupVersion(), resource.Kind.Kind, resource.Content)),
		"apply in JSON": kit.WithData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "test", Force: true},
			fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"one"},%s`, resource.Kind.GroupVersion().String(), resource.Kind.Kind, merge[1:])),
	}
	if resource.BuiltIn {
		patches["strategic merge"] = kit.WithData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE}, merge)
	}
	return patches
}

func patchUnderPreconditions(ctx context.Context, t *testing.T, client kit.ResourceClient, resource kit.Writable, request *kubeconnectv1.PatchRequest) {
	t.Helper()
	before := resource.Get(ctx, t, "one")
	for description, wrong := range map[string]*kubeconnectv1.Preconditions{
		"another UID":                        {Uid: "8f3c5a3e-0000-4000-8000-000000000000"},
		"an old version":                     {ResourceVersion: "1"},
		"the UID, an old version":            {Uid: string(before.GetUID()), ResourceVersion: "1"},
		"another UID, and the right version": {Uid: "8f3c5a3e-0000-4000-8000-000000000000", ResourceVersion: before.GetResourceVersion()},
	} {
		request.Preconditions = wrong
		_, err := client.Patch(ctx, request)
		if err := kit.HasCode(err, connect.CodeAborted); err != nil {
			t.Errorf("under %s: %v", description, err)
		}
	}
	if now := resource.Get(ctx, t, "one"); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the object was changed although the precondition is not met")
	}
	request.Preconditions = &kubeconnectv1.Preconditions{Uid: string(before.GetUID()), ResourceVersion: before.GetResourceVersion()}
	if _, err := client.Patch(ctx, request); err != nil {
		t.Fatal(err)
	}
	now := resource.Get(ctx, t, "one")
	kit.WantField(t, now.Object, "blue", resource.Content, "color")
	back := kit.WithData(&kubeconnectv1.PatchRequest{Resource: request.GetResource(), Namespace: request.GetNamespace(), Name: "one", Type: kit.MergePatch},
		fmt.Sprintf(`{%q:{"color":"red"}}`, resource.Content))
	if _, err := client.Patch(ctx, back); err != nil {
		t.Fatal(err)
	}
}
