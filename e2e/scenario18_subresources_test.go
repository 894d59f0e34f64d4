package e2e_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func TestScenario18_StatusPatchLeavesTheSpec(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	before := createUnscheduledPod(ctx, t, namespace, "one")
	change := `{"metadata":{"labels":{"through":"status"}},"spec":{"activeDeadlineSeconds":77},"status":{"message":"patched"}}`

	patch(ctx, t, client, withData(&kubeconnectv1.PatchRequest{
		Resource: "pods", Namespace: namespace, Name: "one", Subresource: "status",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, change))

	now, err := cluster(t).Client.CoreV1().Pods(namespace).Get(ctx, "one", metav1.GetOptions{})
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
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	gadgets.create("v1", namespace, "one", map[string]any{"color": "red"})
	untilListed(ctx, t, client, gadgets)
	request := func(subresource, body string) *kubeconnectv1.PatchRequest {
		return withData(&kubeconnectv1.PatchRequest{
			Resource: gadgets.name(), Namespace: namespace, Name: "one", Subresource: subresource,
			Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
		}, body)
	}

	patch(ctx, t, client, request("status", `{"spec":{"color":"blue"},"status":{"state":"set through status"}}`))
	patch(ctx, t, client, request("", `{"spec":{"size":"large"},"status":{"state":"set through the object"}}`))

	now := gadgets.get("v1", namespace, "one").Object
	wantField(t, now, "set through status", "status", "state")
	wantField(t, now, "red", "spec", "color")
	wantField(t, now, "large", "spec", "size")
}

func TestScenario18_ScalePatchChangesReplicasAndReturnsAScale(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	createDeployment(ctx, t, namespace, "web", 0)

	answer := patch(ctx, t, client, withData(&kubeconnectv1.PatchRequest{
		Resource: "deployments.apps", Namespace: namespace, Name: "web", Subresource: "scale",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, `{"spec":{"replicas":2,"paused":true}}`))

	if kind := answer.GetKind(); kind.GetKind() != "Scale" || kind.GetGroup() != "autoscaling" || kind.GetVersion() != "v1" {
		t.Errorf("kind of the response %v", kind)
	}
	wantField(t, answer.GetObject().GetStruct().AsMap(), 2.0, "spec", "replicas")
	now := getDeployment(ctx, t, namespace, "web")
	if *now.Spec.Replicas != 2 || now.Spec.Paused {
		t.Errorf("replicas %d, paused %v", *now.Spec.Replicas, now.Spec.Paused)
	}
}

// wantField fails the test unless the field at a path has a value.
func wantField(t *testing.T, object map[string]any, want any, path ...string) {
	t.Helper()
	got, found, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil || !found || got != want {
		t.Errorf("%v is %v (%v), want %v", path, got, err, want)
	}
}
