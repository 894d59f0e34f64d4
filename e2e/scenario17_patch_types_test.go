package e2e_test

import (
	"context"
	"maps"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario17_EachPatchTypeIsApplied(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), eachPatchType)
}

func eachPatchType(t *testing.T, client resourceClient) {
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	write.create("one", nil)
	request := func(patchType kubeconnectv1.PatchType) *kubeconnectv1.PatchRequest {
		return &kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Type: patchType}
	}

	t.Run("a JSON patch as a value", func(t *testing.T) {
		operations := []any{
			map[string]any{"op": "test", "path": "/data/key", "value": "value"},
			map[string]any{"op": "replace", "path": "/data/key", "value": "by JSON patch"},
		}
		answer := patch(ctx, t, client, withValue(t, request(kubeconnectv1.PatchType_PATCH_TYPE_JSON), operations))
		wantData(t, answer, write, labels{"key": "by JSON patch"})
	})
	t.Run("a JSON patch as bytes", func(t *testing.T) {
		operations := `[{"op":"add","path":"/data/more","value":"grüße"}]`
		answer := patch(ctx, t, client, withData(request(kubeconnectv1.PatchType_PATCH_TYPE_JSON), operations))
		wantData(t, answer, write, labels{"key": "by JSON patch", "more": "grüße"})
	})
	t.Run("a merge patch as a value", func(t *testing.T) {
		change := map[string]any{"data": map[string]any{"more": nil, "key": "by merge patch"}}
		answer := patch(ctx, t, client, withValue(t, request(kubeconnectv1.PatchType_PATCH_TYPE_MERGE), change))
		wantData(t, answer, write, labels{"key": "by merge patch"})
	})
	t.Run("a merge patch as bytes", func(t *testing.T) {
		answer := patch(ctx, t, client, withData(request(kubeconnectv1.PatchType_PATCH_TYPE_MERGE), `{"data":{"key":"by bytes"}}`))
		wantData(t, answer, write, labels{"key": "by bytes"})
	})
	t.Run("a strategic merge patch", func(t *testing.T) {
		strategicMergeKeepsOtherContainers(ctx, t, client, namespace)
	})
	t.Run("an apply patch as YAML creates the object, then changes it", func(t *testing.T) {
		applyMakesAndChanges(ctx, t, client, namespace)
	})
}

func strategicMergeKeepsOtherContainers(ctx context.Context, t *testing.T, client resourceClient, namespace string) {
	createDeployment(ctx, t, namespace, "web", 0)
	answer := patch(ctx, t, client, withData(&kubeconnectv1.PatchRequest{
		Resource: "deploy", Namespace: namespace, Name: "web",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE,
	}, `{"spec":{"template":{"spec":{"containers":[{"name":"second","image":"example.com/second:2"}]}}}}`))
	if got := answer.GetKind(); got.GetKind() != "Deployment" || got.GetGroup() != "apps" {
		t.Errorf("object of the response %v", got)
	}
	now := getDeployment(ctx, t, namespace, "web")
	images := map[string]string{}
	for _, container := range now.Spec.Template.Spec.Containers {
		images[container.Name] = container.Image
	}
	if len(images) != 2 || images["main"] != "example.com/main:1" || images["second"] != "example.com/second:2" {
		t.Errorf("containers %v", images)
	}
}

func applyMakesAndChanges(ctx context.Context, t *testing.T, client resourceClient, namespace string) {
	apply := func(value string) *kubeconnectv1.PatchResponse {
		return patch(ctx, t, client, withData(&kubeconnectv1.PatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: "applied",
			Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "e2e",
		}, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\ndata:\n  key: "+value+"\n"))
	}
	first, second := apply("first"), apply("second")
	if !first.GetCreated() || second.GetCreated() {
		t.Errorf("created by the first patch: %v, by the second: %v", first.GetCreated(), second.GetCreated())
	}
	write := configMapsIn(ctx, t, cluster(t), namespace)
	wantData(t, second, write, labels{"key": "second"})
	if manager := write.get("applied").ManagedFields[0].Manager; manager != "e2e" {
		t.Errorf("field manager %q", manager)
	}
}

func TestScenario17_PatchedVersionReachesReaders(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	write.create("one", nil)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "cm", Namespace: namespace, Name: "one"})
	stream.Synced(ctx)

	answer := patch(ctx, t, client, withData(&kubeconnectv1.PatchRequest{
		Resource: "cm", Namespace: namespace, Name: "one", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, `{"data":{"key":"new"}}`))
	now := write.get("one")
	if got := answer.GetObject().GetResourceVersion(); got != now.ResourceVersion {
		t.Errorf("version of the response %s, of the cluster %s", got, now.ResourceVersion)
	}
	wantChanges(t, stream.Reaches(ctx, now.ResourceVersion), modified(now))
	if manager := now.ManagedFields[len(now.ManagedFields)-1].Manager; manager != "kubeconnect" {
		t.Errorf("field manager %q, want the default", manager)
	}
}

func patch(ctx context.Context, t *testing.T, client resourceClient, request *kubeconnectv1.PatchRequest) *kubeconnectv1.PatchResponse {
	t.Helper()
	answer, err := client.Patch(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
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

func withData(request *kubeconnectv1.PatchRequest, body string) *kubeconnectv1.PatchRequest {
	request.Body = &kubeconnectv1.PatchRequest_Data{Data: []byte(body)}
	return request
}

// wantData fails the test unless both the response and the cluster have this data.
func wantData(t *testing.T, answer *kubeconnectv1.PatchResponse, write configMaps, want labels) {
	t.Helper()
	write.t = t
	now := write.get(answer.GetObject().GetName())
	if !maps.Equal(now.Data, want) {
		t.Errorf("the cluster has %v, want %v", now.Data, want)
	}
	fields := answer.GetObject().GetStruct().GetFields()["data"].GetStructValue().AsMap()
	got := labels{}
	for key, value := range fields {
		got[key], _ = value.(string)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the response has %v, want %v", got, want)
	}
}

func createDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32) *appsv1.Deployment {
	t.Helper()
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": name}}, Spec: unscheduledPod("").Spec}
	created, err := cluster(t).Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels{"app": name}},
			Template: template,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func getDeployment(ctx context.Context, t *testing.T, namespace, name string) *appsv1.Deployment {
	t.Helper()
	now, err := cluster(t).Client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return now
}
