package writes_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestSubresources_ThatAreNotObjectsAreNotWritten sends writes to an existing pod, and to a node.
func TestSubresources_ThatAreNotObjectsAreNotWritten(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	for _, object := range []struct{ resource, namespace, name string }{{resource: "pods", namespace: namespace, name: "one"}, {resource: "nodes", name: "node-0"}} {
		for _, subresource := range []string{"log", "exec", "attach", "portforward", "proxy"} {
			_, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
				Resource: object.resource, Namespace: object.namespace, Name: object.name, Subresource: subresource,
				Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(`{}`)},
			})
			kit.WantError(t, err, connect.CodeInvalidArgument, subresource)
			_, err = client.Update(ctx, &kubeconnectv1.UpdateRequest{
				Resource: object.resource, Namespace: object.namespace, Name: object.name, Subresource: subresource,
				Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(`{}`)},
			})
			kit.WantError(t, err, connect.CodeInvalidArgument, subresource)
			_, err = client.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{
				Resource: object.resource, Namespace: object.namespace, Name: object.name, Subresource: subresource, Type: kit.MergePatch,
			}, `{}`))
			kit.WantError(t, err, connect.CodeInvalidArgument, subresource)
		}
	}
}
