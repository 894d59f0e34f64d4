package queries_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestSubresources_AreLimitedToFields reads a subresource of the object's kind, and one of another.
func TestSubresources_AreLimitedToFields(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, namespace, "web", 2)
	get := &kubeconnectv1.GetRequest{Resource: "deployments", Namespace: namespace, Name: "web", Encoding: kit.EncodingJSON}
	for subresource, want := range map[string]string{
		"status": `{"spec":{"replicas":2},"metadata":{"name":"web"}}`,
		"scale":  `{"metadata":{"name":"web"},"spec":{"replicas":2}}`,
	} {
		get.Subresource, get.Fields, get.MetadataOnly = subresource, []string{"spec.replicas", "metadata.name"}, false
		got, err := client.Get(ctx, get)
		if err != nil || !sameJSON(t, got.GetObject().GetJson(), want) {
			t.Errorf("%s: %s, %v", subresource, got.GetObject().GetJson(), err)
		}
		get.Fields, get.MetadataOnly = []string{"metadata.name"}, true
		got, err = client.Get(ctx, get)
		if err != nil || !sameJSON(t, got.GetObject().GetJson(), `{"metadata":{"name":"web"}}`) || got.GetResource().GetKind() != "PartialObjectMetadata" {
			t.Errorf("metadata of %s: %s of %v, %v", subresource, got.GetObject().GetJson(), got.GetResource(), err)
		}
		get.Fields = []string{"spec"}
		_, err = client.Get(ctx, get)
		kit.WantError(t, err, connect.CodeInvalidArgument, "metadata_only")
	}
}

func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	one := func(text []byte) string {
		return string(inOneForm(t, &kubeconnectv1.Object{Content: &kubeconnectv1.Object_Json{Json: text}}).GetJson())
	}
	return len(got) > 0 && one(got) == one([]byte(want))
}
