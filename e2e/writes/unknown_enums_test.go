package writes_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestWrites_UnknownEnumValuesAreRejected sends writes that would succeed with any known value.
func TestWrites_UnknownEnumValuesAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("one", nil)
	update := func(change func(*kubeconnectv1.UpdateRequest)) error {
		request := &kubeconnectv1.UpdateRequest{
			Resource: "configmaps", Namespace: namespace, Name: "one", Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(`{"metadata":{"name":"one"}}`)},
		}
		change(request)
		_, err := client.Update(ctx, request)
		return err
	}
	patch := func(change func(*kubeconnectv1.PatchRequest)) error {
		request := kit.WithData(&kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Type: kit.MergePatch}, `{"data":{"key":"x"}}`)
		change(request)
		_, err := client.Patch(ctx, request)
		return err
	}
	remove := func(change func(*kubeconnectv1.DeleteRequest)) error {
		request := &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: namespace, Name: "one"}
		change(request)
		_, err := client.Delete(ctx, request)
		return err
	}
	_, collection := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: "configmaps", Namespace: namespace, PropagationPolicy: 99})
	for name, test := range map[string]struct {
		err   error
		words string
	}{
		"encoding of an update":              {err: update(func(r *kubeconnectv1.UpdateRequest) { r.Encoding = 99 }), words: "encoding 99"},
		"validation of an update":            {err: update(func(r *kubeconnectv1.UpdateRequest) { r.FieldValidation = 99 }), words: "field_validation 99"},
		"type of a patch":                    {err: patch(func(r *kubeconnectv1.PatchRequest) { r.Type = 99 }), words: "type"},
		"no type of a patch":                 {err: patch(func(r *kubeconnectv1.PatchRequest) { r.Type = 0 }), words: "type is required"},
		"encoding of a patch":                {err: patch(func(r *kubeconnectv1.PatchRequest) { r.Encoding = 99 }), words: "encoding 99"},
		"validation of a patch":              {err: patch(func(r *kubeconnectv1.PatchRequest) { r.FieldValidation = 99 }), words: "field_validation 99"},
		"force of a merge patch":             {err: patch(func(r *kubeconnectv1.PatchRequest) { r.Force = true }), words: "force"},
		"propagation of a deletion":          {err: remove(func(r *kubeconnectv1.DeleteRequest) { r.PropagationPolicy = 99 }), words: "propagation_policy 99"},
		"encoding of a deletion":             {err: remove(func(r *kubeconnectv1.DeleteRequest) { r.Encoding = 99 }), words: "encoding 99"},
		"propagation of several deletions":   {err: collection, words: "propagation_policy 99"},
		"namespace of a cluster-scoped kind": {err: remove(func(r *kubeconnectv1.DeleteRequest) { r.Resource = "nodes" }), words: "no namespaces"},
	} {
		t.Run(name, func(t *testing.T) { kit.WantError(t, test.err, connect.CodeInvalidArgument, test.words) })
	}
	kit.WantUnchanged(t, write, before)
}
