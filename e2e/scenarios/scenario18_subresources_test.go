package scenarios_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestScenario18_StatusPatchLeavesTheSpec(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	before := kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	change := `{"metadata":{"labels":{"through":"status"}},"spec":{"activeDeadlineSeconds":77},"status":{"message":"patched"}}`

	kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "pods", Namespace: namespace, Name: "one", Subresource: "status",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, change))

	now, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Get(ctx, "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if now.Status.Message != "patched" {
		t.Errorf("message of the status %q", now.Status.Message)
	}
	if now.Spec.ActiveDeadlineSeconds != before.Spec.ActiveDeadlineSeconds {
		t.Error("the spec was changed through status")
	}
}

func TestScenario18_ObjectPatchLeavesTheStatus(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilListed(ctx, t, client, gadgets)
	request := func(subresource, body string) *kubeconnectv1.PatchRequest {
		return kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: gadgets.Name(), Namespace: namespace, Name: "one", Subresource: subresource,
			Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
		}, body)
	}

	kit.Patch(ctx, t, client, request("status", `{"spec":{"color":"blue"},"status":{"state":"set through status"}}`))
	kit.Patch(ctx, t, client, request("", `{"spec":{"size":"large"},"status":{"state":"set through the object"}}`))

	now := gadgets.Get("v1", namespace, "one").Object
	kit.WantField(t, now, "set through status", "status", "state")
	kit.WantField(t, now, "red", "spec", "color")
	kit.WantField(t, now, "large", "spec", "size")
}

func TestScenario18_ScalePatchChangesReplicasAndReturnsAScale(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, namespace, "web", 0)

	answer := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "deployments.apps", Namespace: namespace, Name: "web", Subresource: "scale",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, `{"spec":{"replicas":2,"paused":true}}`))

	if kind := answer.GetResource(); kind.GetKind() != "Scale" || kind.GetGroup() != "autoscaling" || kind.GetVersion() != "v1" {
		t.Errorf("kind of the response %v", kind)
	}
	kit.WantField(t, answer.GetObject().GetStruct().AsMap(), 2.0, "spec", "replicas")
	now := kit.GetDeployment(ctx, t, namespace, "web")
	if *now.Spec.Replicas != 2 || now.Spec.Paused {
		t.Errorf("replicas %d, paused %v", *now.Spec.Replicas, now.Spec.Paused)
	}
}
