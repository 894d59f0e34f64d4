package e2e_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario04_LabelChangesDeleteAndAddObjects(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	write.create("one", labels{"app": "web"})
	held := write.touch("one", "held")
	client := newClient(t, cluster(t))
	untilRead(ctx, t, client, "configmaps", held)

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web",
	})
	stream.Synced(ctx)
	left := write.relabel("one", map[string]any{"app": "other"})
	write.touch("one", "unseen")
	write.relabel("one", map[string]any{"app": nil})
	back := write.relabel("one", map[string]any{"app": "web"})

	view := stream.Reaches(ctx, back.ResourceVersion)
	wantChanges(t, view, deleted(held), added(back))
	wantEventVersion(t, view, 0, left.ResourceVersion)
}

func TestScenario04_FieldChangesDeleteAndAddObjects(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	held := createUnscheduledPod(ctx, t, namespace, "one")
	client := newClient(t, cluster(t))
	untilRead(ctx, t, client, "pods", held)

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "pods", Namespace: namespace, FieldSelector: "status.phase=Pending",
	})
	stream.Synced(ctx)
	left := setPhase(ctx, t, held, corev1.PodRunning)
	unseen := setPhase(ctx, t, left, corev1.PodUnknown)
	back := setPhase(ctx, t, unseen, corev1.PodPending)

	view := stream.Reaches(ctx, back.ResourceVersion)
	wantChanges(t, view, deleted(held), added(back))
	wantEventVersion(t, view, 0, left.ResourceVersion)
}

// wantEventVersion checks the version of a change, not that of its object.
func wantEventVersion(t *testing.T, view record.View, index int, want string) {
	t.Helper()
	changes := record.AfterSnapshot(view.Events)
	if len(changes) <= index {
		return // wantChanges has reported it
	}
	if got := changes[index].GetResourceVersion(); got != want {
		t.Errorf("change %d has version %s, want %s", index, got, want)
	}
}

// createUnscheduledPod creates a pod that no scheduler touches.
func createUnscheduledPod(ctx context.Context, t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	pod, err := cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, unscheduledPod(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func unscheduledPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody",
			Containers:    []corev1.Container{{Name: "main", Image: "example.com/main:1"}},
		},
	}
}

func setPhase(ctx context.Context, t *testing.T, pod *corev1.Pod, phase corev1.PodPhase) *corev1.Pod {
	t.Helper()
	changed := pod.DeepCopy()
	changed.Status.Phase = phase
	changed, err := cluster(t).Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
