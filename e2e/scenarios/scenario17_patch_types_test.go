package scenarios_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario17_EachPatchTypeIsApplied(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), eachPatchType)
}

func eachPatchType(t *testing.T, client kit.ResourceClient) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", nil)
	request := func(patchType kubeconnectv1.PatchType) *kubeconnectv1.PatchRequest {
		return &kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Type: patchType}
	}

	t.Run("a JSON patch as a value", func(t *testing.T) {
		operations := []any{
			map[string]any{"op": "test", "path": "/data/key", "value": "value"},
			map[string]any{"op": "replace", "path": "/data/key", "value": "by JSON patch"},
		}
		answer := kit.Patch(ctx, t, client, withValue(t, request(kubeconnectv1.PatchType_PATCH_TYPE_JSON), operations))
		wantData(t, answer, write, kit.Labels{"key": "by JSON patch"})
	})
	t.Run("a JSON patch as bytes", func(t *testing.T) {
		operations := `[{"op":"add","path":"/data/more","value":"grüße"}]`
		answer := kit.Patch(ctx, t, client, kit.WithData(request(kubeconnectv1.PatchType_PATCH_TYPE_JSON), operations))
		wantData(t, answer, write, kit.Labels{"key": "by JSON patch", "more": "grüße"})
	})
	t.Run("a merge patch as a value", func(t *testing.T) {
		change := map[string]any{"data": map[string]any{"more": nil, "key": "by merge patch"}}
		answer := kit.Patch(ctx, t, client, withValue(t, request(kubeconnectv1.PatchType_PATCH_TYPE_MERGE), change))
		wantData(t, answer, write, kit.Labels{"key": "by merge patch"})
	})
	t.Run("a merge patch as bytes", func(t *testing.T) {
		answer := kit.Patch(ctx, t, client, kit.WithData(request(kubeconnectv1.PatchType_PATCH_TYPE_MERGE), `{"data":{"key":"by bytes"}}`))
		wantData(t, answer, write, kit.Labels{"key": "by bytes"})
	})
	t.Run("a strategic merge patch", func(t *testing.T) {
		strategicMergeKeepsOtherContainers(ctx, t, client, namespace)
	})
	t.Run("an apply patch as YAML creates the object, then changes it", func(t *testing.T) {
		applyMakesAndChanges(ctx, t, client, namespace)
	})
}

func strategicMergeKeepsOtherContainers(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string) {
	kit.CreateDeployment(ctx, t, namespace, "web", 0)
	answer := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "deploy", Namespace: namespace, Name: "web",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE,
	}, `{"spec":{"template":{"spec":{"containers":[{"name":"second","image":"example.com/second:2"}]}}}}`))
	if got := answer.GetResource(); got.GetKind() != "Deployment" || got.GetGroup() != "apps" {
		t.Errorf("object of the response %v", got)
	}
	now := kit.GetDeployment(ctx, t, namespace, "web")
	images := map[string]string{}
	for _, container := range now.Spec.Template.Spec.Containers {
		images[container.Name] = container.Image
	}
	if len(images) != 2 || images["main"] != "example.com/main:1" || images["second"] != "example.com/second:2" {
		t.Errorf("containers %v", images)
	}
}

func applyMakesAndChanges(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string) {
	apply := func(value string) *kubeconnectv1.PatchResponse {
		return kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: "applied",
			Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "e2e",
		}, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\ndata:\n  key: "+value+"\n"))
	}
	first, second := apply("first"), apply("second")
	if !first.GetCreated() || second.GetCreated() {
		t.Errorf("created by the first patch: %v, by the second: %v", first.GetCreated(), second.GetCreated())
	}
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	wantData(t, second, write, kit.Labels{"key": "second"})
	if manager := write.Get("applied").ManagedFields[0].Manager; manager != "e2e" {
		t.Errorf("field manager %q", manager)
	}
}

func TestScenario17_PatchedVersionReachesReaders(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", nil)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "cm", Namespace: namespace, Name: "one"})
	stream.Synced(ctx)

	answer := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "cm", Namespace: namespace, Name: "one", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, `{"data":{"key":"new"}}`))
	now := write.Get("one")
	if got := answer.GetObject().GetResourceVersion(); got != now.ResourceVersion {
		t.Errorf("version of the response %s, of the cluster %s", got, now.ResourceVersion)
	}
	kit.WantChanges(t, stream.Reaches(ctx, now.ResourceVersion), kit.Modified(now))
	if !slices.ContainsFunc(now.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "kubeconnect" }) {
		t.Errorf("no field belongs to the default field manager: %v", now.ManagedFields)
	}
}

func withValue(t *testing.T, request *kubeconnectv1.PatchRequest, body any) *kubeconnectv1.PatchRequest {
	t.Helper()
	value, err := structpb.NewValue(body)
	if err != nil {
		t.Fatal(err)
	}
	request.Body = &kubeconnectv1.PatchRequest_Value{Value: value}
	return request
}

// wantData fails the test unless both the response and the cluster have this data.
func wantData(t *testing.T, answer *kubeconnectv1.PatchResponse, write kit.ConfigMaps, want kit.Labels) {
	t.Helper()
	write.T = t
	now := write.Get(answer.GetObject().GetName())
	if !maps.Equal(now.Data, want) {
		t.Errorf("the cluster has %v, want %v", now.Data, want)
	}
	fields := answer.GetObject().GetStruct().GetFields()["data"].GetStructValue().AsMap()
	got := kit.Labels{}
	for key, value := range fields {
		got[key], _ = value.(string)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the response has %v, want %v", got, want)
	}
}
