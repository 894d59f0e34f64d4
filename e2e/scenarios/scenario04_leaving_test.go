package scenarios_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario04_LabelChangesDeleteAndAddObjects(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", kit.Labels{"app": "web"})
	held := write.Touch("one", "held")
	client := kit.NewClient(t, kit.Cluster(t))
	kit.UntilRead(ctx, t, client, "configmaps", held)

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web",
	})
	stream.Synced(ctx)
	left := write.Relabel("one", map[string]any{"app": "other"})
	write.Touch("one", "unseen")
	write.Relabel("one", map[string]any{"app": nil})
	back := write.Relabel("one", map[string]any{"app": "web"})

	view := stream.Reaches(ctx, back.ResourceVersion)
	kit.WantChanges(t, view, kit.Deleted(held), kit.Added(back))
	kit.WantEventVersion(t, view, 0, left.ResourceVersion)
}

func TestScenario04_FieldChangesDeleteAndAddObjects(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	held := kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	client := kit.NewClient(t, kit.Cluster(t))
	kit.UntilRead(ctx, t, client, "pods", held)

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "pods", Namespace: namespace, FieldSelector: "status.phase=Pending",
	})
	stream.Synced(ctx)
	left := setPhase(ctx, t, held, corev1.PodRunning)
	unseen := setPhase(ctx, t, left, corev1.PodUnknown)
	back := setPhase(ctx, t, unseen, corev1.PodPending)

	view := stream.Reaches(ctx, back.ResourceVersion)
	kit.WantChanges(t, view, kit.Deleted(held), kit.Added(back))
	kit.WantEventVersion(t, view, 0, left.ResourceVersion)
}

func setPhase(ctx context.Context, t *testing.T, pod *corev1.Pod, phase corev1.PodPhase) *corev1.Pod {
	t.Helper()
	changed := pod.DeepCopy()
	changed.Status.Phase = phase
	changed, err := kit.Cluster(t).Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
