package kit

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// Running returns the status of a container that runs after some restarts.
func Running(name string, restarts int32) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: name, RestartCount: restarts}
	status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	if restarts > 0 {
		status.LastTerminationState.Terminated = terminated("Error", 1)
	}
	return status
}

// Terminated returns the status of a container that has terminated after some restarts.
func Terminated(name string, restarts int32, reason string, exitCode int32) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: name, RestartCount: restarts}
	status.State.Terminated = terminated(reason, exitCode)
	return status
}

func terminated(reason string, exitCode int32) *corev1.ContainerStateTerminated {
	now := metav1.NewTime(time.Now())
	return &corev1.ContainerStateTerminated{Reason: reason, ExitCode: exitCode, StartedAt: now, FinishedAt: now, ContainerID: "test://container"}
}

// SetContainers reports the status of a pod's containers, as its node does.
func SetContainers(ctx context.Context, t *testing.T, namespace, name string, statuses ...corev1.ContainerStatus) {
	t.Helper()
	pods := Cluster(t).Client.CoreV1().Pods(namespace)
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pod.Status.Phase, pod.Status.ContainerStatuses = corev1.PodRunning, statuses
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
