package writes_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	jsonPatch  = kubeconnectv1.PatchType_PATCH_TYPE_JSON
	applyPatch = kubeconnectv1.PatchType_PATCH_TYPE_APPLY
)

func TestPatch_InvalidPatchesAreRejectedAndChangeNothing(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("one", nil)

	type change = func(*kubeconnectv1.PatchRequest)
	ofType := func(patchType kubeconnectv1.PatchType, body string) change {
		return func(r *kubeconnectv1.PatchRequest) { r.Type = patchType; kit.WithData(r, body) }
	}
	for name, test := range map[string]struct {
		change change
		code   connect.Code
		words  []string
	}{
		"no resource": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Resource = "" },
			code:   connect.CodeInvalidArgument, words: []string{"resource"},
		},
		"no name": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Name = "" },
			code:   connect.CodeInvalidArgument, words: []string{"name"},
		},
		"no namespace": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Namespace = "" },
			code:   connect.CodeInvalidArgument, words: []string{"namespace"},
		},
		"a namespace for a cluster-scoped resource": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Resource = "namespaces" },
			code:   connect.CodeInvalidArgument, words: []string{"namespace"},
		},
		"a resource that the cluster does not serve": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Resource = "configmapz" },
			code:   connect.CodeNotFound, words: []string{"configmapz", "configmaps"},
		},
		"an unknown subresource": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Subresource = "scale" },
			code:   connect.CodeNotFound,
		},
		"a name with a path": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Name = "../secrets/one" },
			code:   connect.CodeInvalidArgument, words: []string{"name"},
		},
		"a namespace with a path": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Namespace = "../../nodes" },
			code:   connect.CodeInvalidArgument, words: []string{"namespace"},
		},
		"a subresource with a path": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Subresource = "../two" },
			code:   connect.CodeInvalidArgument, words: []string{"subresource"},
		},
		"no type": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Type = 0 },
			code:   connect.CodeInvalidArgument, words: []string{"type"},
		},
		"an unknown type": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Type = 99 },
			code:   connect.CodeInvalidArgument, words: []string{"type"},
		},
		"no body": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Body = nil },
			code:   connect.CodeInvalidArgument, words: []string{"body"},
		},
		"a merge patch that is not JSON": {
			change: ofType(kit.MergePatch, "{"), code: connect.CodeInvalidArgument,
		},
		"a merge patch that is a list": {
			change: ofType(kit.MergePatch, "[]"), code: connect.CodeInvalidArgument,
		},
		"a JSON patch that is an object": {
			change: ofType(jsonPatch, "{}"), code: connect.CodeInvalidArgument,
		},
		"a JSON patch with an unknown operation": {
			change: ofType(jsonPatch, `[{"op":"frobnicate","path":"/data/key"}]`), code: connect.CodeInvalidArgument,
		},
		"a JSON patch of a missing path": {
			change: ofType(jsonPatch, `[{"op":"remove","path":"/data/absent"}]`), code: connect.CodeInvalidArgument,
		},
		"an apply patch that is not YAML": {
			change: func(r *kubeconnectv1.PatchRequest) { ofType(applyPatch, "\t")(r); r.FieldManager = "e2e" },
			code:   connect.CodeInvalidArgument,
		},
		"an apply patch without a field manager": {
			change: ofType(applyPatch, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"),
			code:   connect.CodeInvalidArgument, words: []string{"field_manager"},
		},
		"a field manager that is too long": {
			change: func(r *kubeconnectv1.PatchRequest) { r.FieldManager = strings.Repeat("m", 129) },
			code:   connect.CodeInvalidArgument,
		},
		"force for another type than apply": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Force = true },
			code:   connect.CodeInvalidArgument, words: []string{"force"},
		},
		"an unknown field validation": {
			change: func(r *kubeconnectv1.PatchRequest) { r.FieldValidation = 99 },
			code:   connect.CodeInvalidArgument, words: []string{"field_validation"},
		},
		"an unknown encoding": {
			change: func(r *kubeconnectv1.PatchRequest) { r.Encoding = 99 },
			code:   connect.CodeInvalidArgument, words: []string{"encoding"},
		},
		"another object's name in the body": {
			change: ofType(kit.MergePatch, `{"metadata":{"name":"two"}}`), code: connect.CodeInvalidArgument,
		},
		"a body over the limit": {
			change: ofType(kit.MergePatch, `{"data":{"key":"`+strings.Repeat("x", kit.OverLimit)+`"}}`),
			code:   connect.CodeResourceExhausted,
		},
		"a body over the API server's limit": {
			change: ofType(kit.MergePatch, `{"data":{"key":"`+strings.Repeat("x", 3_500_000)+`"}}`),
			code:   connect.CodeResourceExhausted,
		},
		"data over the limit of a ConfigMap": {
			change: ofType(kit.MergePatch, `{"data":{"key":"`+strings.Repeat("x", 1_100_000)+`"}}`),
			code:   connect.CodeInvalidArgument, words: []string{"Too long"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			request := kit.WithData(&kubeconnectv1.PatchRequest{
				Resource: "configmaps", Namespace: namespace, Name: "one", Type: kit.MergePatch,
			}, `{"data":{"key":"changed"}}`)
			test.change(request)
			_, err := client.Patch(ctx, request)
			kit.WantError(t, err, test.code, test.words...)
			kit.WantUnchanged(t, write, before)
		})
	}
}
