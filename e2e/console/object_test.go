package console_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestObject_ExplainsAPodAndPerformsActions(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace, node := kit.NewNamespace(ctx, t, kit.Cluster(t)), newNode(ctx, t)
	createCrashingPod(ctx, t, namespace, "crashing")
	kit.RunDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
	browser := startConsole(t, "object.mjs", service.Address, namespace, node, artifacts(t))

	var page struct{ Words string }
	browser.Step(ctx, "crashing", &page)
	kit.WantWords(t, page.Words, "main", "keeps crashing", "137", "more memory than its limit")
	browser.Step(ctx, "scaled", &page)
	if now := kit.GetDeployment(ctx, t, namespace, "web"); *now.Spec.Replicas != 3 {
		t.Errorf("the deployment has %d replicas, want 3", *now.Spec.Replicas)
	}
	browser.Step(ctx, "restarted", &page)
	const restartedAt = "kubectl.kubernetes.io/restartedAt"
	if now := kit.GetDeployment(ctx, t, namespace, "web"); now.Spec.Template.Annotations[restartedAt] == "" {
		t.Errorf("the template was not restarted: %v", now.Spec.Template.Annotations)
	}
	kit.ScaleDeployment(ctx, t, namespace, "web", 4)
	browser.Step(ctx, "deleted", &page)
	kit.WantWords(t, page.Words, "Pods", "ReplicaSets")
	deployments := kit.Cluster(t).Client.AppsV1().Deployments(namespace)
	if _, err := deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the deleted deployment: %v", err)
	}
	browser.Step(ctx, "cordoned", &page)
	if now, err := kit.Cluster(t).Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err != nil || !now.Spec.Unschedulable {
		t.Errorf("%v: the node is not cordoned", err)
	}
	browser.Ends(ctx)
}

// newNode creates a node without a kubelet, which is deleted when the test ends.
func newNode(ctx context.Context, t *testing.T) (name string) {
	t.Helper()
	nodes := kit.Cluster(t).Client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "console-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Delete(context.WithoutCancel(ctx), node.Name, metav1.DeleteOptions{}) })
	return node.Name
}

// createCrashingPod creates a pod whose container is killed again and again.
func createCrashingPod(ctx context.Context, t *testing.T, namespace, name string) {
	t.Helper()
	createPod(ctx, t, namespace, name, nil)
	status := kit.Terminated("main", 4, "OOMKilled", 137)
	status.LastTerminationState, status.State = status.State, corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 1m20s restarting failed container"},
	}
	kit.SetContainers(ctx, t, namespace, name, status)
}
