package writes_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestVersions_ThatNoObjectHasAreTheCallersMistake sends a resource version that the API server cannot
// read, wherever a caller can give one: in the request, and in each kind of body. The API server reports an
// internal error for some of them, which would count as a failure of the service.
func TestVersions_ThatNoObjectHasAreTheCallersMistake(t *testing.T) {
	t.Parallel()
	const version = "AAAA"
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("a", nil)
	manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":%q},"data":{"color":"red"}}`, version)
	required := &kubeconnectv1.Preconditions{ResourceVersion: version}
	patch := func(kind kubeconnectv1.PatchType, body string, required *kubeconnectv1.Preconditions) func() error {
		return func() error {
			_, err := client.Patch(ctx, &kubeconnectv1.PatchRequest{
				Resource: "configmaps", Namespace: namespace, Name: "a", Type: kind, Preconditions: required, FieldManager: "test",
				Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(body)},
			})
			return err
		}
	}
	update := func(body string, required *kubeconnectv1.Preconditions) func() error {
		return func() error {
			_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
				Resource: "configmaps", Namespace: namespace, Name: "a", Preconditions: required,
				Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(body)},
			})
			return err
		}
	}
	for name, call := range map[string]func() error{
		"precondition of an update": update(`{"metadata":{"name":"a"}}`, required),
		"precondition of a patch":   patch(kubeconnectv1.PatchType_PATCH_TYPE_MERGE, `{}`, required),
		"precondition of a delete": func() error {
			_, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: namespace, Name: "a", Preconditions: required})
			return err
		},
		"manifest of an update": update(manifest, nil),
		"merge patch":           patch(kubeconnectv1.PatchType_PATCH_TYPE_MERGE, manifest, nil),
		"strategic patch":       patch(kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE, manifest, nil),
		"apply patch":           patch(kubeconnectv1.PatchType_PATCH_TYPE_APPLY, manifest, nil),
		"JSON patch": patch(kubeconnectv1.PatchType_PATCH_TYPE_JSON,
			fmt.Sprintf(`[{"op":"add","path":"/metadata/resourceVersion","value":%q}]`, version), nil),
		"min_resource_version of a get": func() error {
			_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "a", MinResourceVersion: version})
			return err
		},
		"min_resource_version of a list": func() error {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, MinResourceVersion: version})
			return err
		},
		"min_resource_version of a count": func() error {
			_, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", Namespace: namespace, MinResourceVersion: version})
			return err
		},
		"min_resource_version of a watch": func() error {
			_, err := kit.FirstOf(ctx, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, MinResourceVersion: version})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			kit.WantError(t, call(), connect.CodeInvalidArgument, version)
		})
	}
}
