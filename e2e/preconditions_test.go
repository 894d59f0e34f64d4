package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestPatch_ChecksPreconditions patches objects in every form under preconditions, some of
// which are not met.
func TestPatch_ChecksPreconditions(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	service := harness.StartService(t, cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	for sort, resource := range bothSorts(ctx, t, namespace) {
		resource.create(ctx, t, client, namespace, resource.object("one", "red"))
		for form, request := range patchesOf(resource) {
			t.Run(sort+" by "+form, func(t *testing.T) {
				request.Resource, request.Namespace, request.Name = resource.name, namespace, "one"
				patchUnderPreconditions(ctx, t, client, resource, request)
			})
		}
	}
}

// patchesOf returns patches that change a color to blue, in every form.
func patchesOf(resource writable) map[string]*kubeconnectv1.PatchRequest {
	merge := fmt.Sprintf(`{%q:{"color":"blue"}}`, resource.content)
	patches := map[string]*kubeconnectv1.PatchRequest{
		"merge":               withData(&kubeconnectv1.PatchRequest{Type: mergePatch}, merge),
		"merge with metadata": withData(&kubeconnectv1.PatchRequest{Type: mergePatch}, merge[:len(merge)-1]+`,"metadata":{}}`),
		"JSON patch": withData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_JSON},
			fmt.Sprintf(`[{"op":"replace","path":"/%s/color","value":"blue"}]`, resource.content)),
		"apply in YAML": withData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "test", Force: true},
			fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: one\n%s:\n  color: blue\n", resource.kind.GroupVersion(), resource.kind.Kind, resource.content)),
		"apply in JSON": withData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "test", Force: true},
			fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"one"},%s`, resource.kind.GroupVersion().String(), resource.kind.Kind, merge[1:])),
	}
	if resource.builtIn {
		patches["strategic merge"] = withData(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE}, merge)
	}
	return patches
}

func patchUnderPreconditions(ctx context.Context, t *testing.T, client resourceClient, resource writable, request *kubeconnectv1.PatchRequest) {
	t.Helper()
	before := resource.get(ctx, t, "one")
	for description, wrong := range map[string]*kubeconnectv1.Preconditions{
		"another UID":                        {Uid: "8f3c5a3e-0000-4000-8000-000000000000"},
		"an old version":                     {ResourceVersion: "1"},
		"the UID, an old version":            {Uid: string(before.GetUID()), ResourceVersion: "1"},
		"another UID, and the right version": {Uid: "8f3c5a3e-0000-4000-8000-000000000000", ResourceVersion: before.GetResourceVersion()},
	} {
		request.Preconditions = wrong
		_, err := client.Patch(ctx, request)
		if err := hasCode(err, connect.CodeAborted); err != nil {
			t.Errorf("under %s: %v", description, err)
		}
	}
	if now := resource.get(ctx, t, "one"); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the object was changed although the precondition is not met")
	}
	request.Preconditions = &kubeconnectv1.Preconditions{Uid: string(before.GetUID()), ResourceVersion: before.GetResourceVersion()}
	if _, err := client.Patch(ctx, request); err != nil {
		t.Fatal(err)
	}
	now := resource.get(ctx, t, "one")
	wantField(t, now.Object, "blue", resource.content, "color")
	back := withData(&kubeconnectv1.PatchRequest{Resource: request.GetResource(), Namespace: request.GetNamespace(), Name: "one", Type: mergePatch},
		fmt.Sprintf(`{%q:{"color":"red"}}`, resource.content))
	if _, err := client.Patch(ctx, back); err != nil {
		t.Fatal(err)
	}
}
