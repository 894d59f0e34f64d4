package simulate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	pullTime    = 2 * time.Second
	pullBackOff = 30 * time.Second
	probePeriod = 20 * time.Second
)

// nextPull alternates between a failed attempt to pull the image and the time until the next one.
func nextPull(pod *corev1.Pod, now metav1.Time) step {
	image := pod.Spec.Containers[0].Image
	failure := fmt.Sprintf("failed to pull and unpack image %q: failed to resolve reference %q: %s: not found", image, image, image)
	if reasonOfWaiting(pod) != "ErrImagePull" {
		return step{status: pending(pod, waiting("ErrImagePull", failure), now), after: pullTime, events: []event{
			{kind: corev1.EventTypeNormal, reason: "Pulling", message: fmt.Sprintf("Pulling image %q", image)},
			{kind: corev1.EventTypeWarning, reason: "Failed", message: fmt.Sprintf("Failed to pull image %q: %s", image, failure)},
		}}
	}
	message := fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", image, failure)
	return step{status: pending(pod, waiting("ImagePullBackOff", message), now), after: pullBackOff, events: []event{
		{kind: corev1.EventTypeNormal, reason: "BackOff", message: fmt.Sprintf("Back-off pulling image %q", image)},
		{kind: corev1.EventTypeWarning, reason: "Failed", message: "Error: ImagePullBackOff"},
	}}
}

func reasonOfWaiting(pod *corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Waiting == nil {
		return ""
	}
	return pod.Status.ContainerStatuses[0].State.Waiting.Reason
}

// pending returns the status of a pod whose containers cannot start.
func pending(pod *corev1.Pod, state corev1.ContainerState, now metav1.Time) *corev1.PodStatus {
	status := begun(pod, state, now)
	status.Phase = corev1.PodPending
	return status
}

// begun returns the status of a pod whose containers all have one state, and are not ready.
func begun(pod *corev1.Pod, state corev1.ContainerState, now metav1.Time) *corev1.PodStatus {
	status := pod.Status.DeepCopy()
	if status.StartTime == nil {
		status.StartTime = &now
	}
	status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, State: state, Started: new(bool),
		})
	}
	setUnready(status, now)
	return status
}

// nextProbe reports a failed readiness probe.
func nextProbe(pod *corev1.Pod, now metav1.Time) step {
	if len(pod.Status.ContainerStatuses) == 0 {
		return step{} // it does not run yet
	}
	next := step{after: probePeriod, events: []event{{
		kind: corev1.EventTypeWarning, reason: "Unhealthy", message: "Readiness probe failed: HTTP probe failed with statuscode: 503",
	}}}
	if pod.Status.ContainerStatuses[0].Ready {
		next.status = pod.Status.DeepCopy()
		setUnready(next.status, now)
	}
	return next
}

// nextFailure ends a pod that is not restarted.
func nextFailure(pod *corev1.Pod, now metav1.Time) step {
	if pod.Status.Phase == corev1.PodFailed {
		return step{after: time.Hour}
	}
	status := begun(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "Error", ExitCode: 1, StartedAt: now, FinishedAt: now,
	}}, now)
	status.Phase = corev1.PodFailed
	return step{status: status}
}

// setUnready sets the containers and the conditions of a pod that is not ready.
func setUnready(status *corev1.PodStatus, now metav1.Time) {
	message := "containers with unready status: ["
	for i := range status.ContainerStatuses {
		container := &status.ContainerStatuses[i]
		container.Ready = false
		if i > 0 {
			message += " "
		}
		message += container.Name
	}
	setPodCondition(status, corev1.PodInitialized, corev1.ConditionTrue, "", "", now)
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		setPodCondition(status, kind, corev1.ConditionFalse, "ContainersNotReady", message+"]", now)
	}
}

// setPodCondition sets a condition, and its time if the status changes.
func setPodCondition(status *corev1.PodStatus, kind corev1.PodConditionType, value corev1.ConditionStatus, reason, message string, now metav1.Time) {
	condition := corev1.PodCondition{Type: kind, Status: value, Reason: reason, Message: message, LastTransitionTime: now}
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if status.Conditions[i].Status == value {
		condition.LastTransitionTime = status.Conditions[i].LastTransitionTime
	}
	status.Conditions[i] = condition
}
