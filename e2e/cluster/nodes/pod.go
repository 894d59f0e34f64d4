package nodes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// ForeignStatusAnnotation marks a pod whose status another program writes.
const ForeignStatusAnnotation = "nodes.kubeconnect.dev/foreign-status"

// playPod advances a pod by one step of its lifecycle.
func (a *agent) playPod(ctx context.Context, key string) error {
	object, exists, err := a.pods.GetStore().GetByKey(key)
	if err != nil || !exists {
		return err
	}
	pod := podOf(object)
	switch {
	case pod.DeletionTimestamp != nil:
		return a.remove(ctx, pod)
	case hasForeignStatus(pod):
		return nil
	case pod.Status.Phase == corev1.PodPending:
		return a.update(ctx, pod, func(pod *corev1.Pod) { makeRunning(pod, a.addresses.next(), metav1.Now()) })
	case pod.Status.Phase == corev1.PodRunning && isOfJob(pod):
		return a.update(ctx, pod, func(pod *corev1.Pod) { makeSucceeded(pod, metav1.Now()) })
	}
	return nil
}

func podOf(object any) *corev1.Pod { return object.(*corev1.Pod) }

func isOfJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

func hasForeignStatus(pod *corev1.Pod) bool {
	_, found := pod.Annotations[ForeignStatusAnnotation]
	return found
}

// remove confirms a deletion, as a kubelet does when the containers have ended. A pod with a grace
// period of 0 has been confirmed already, and waits for its finalizers.
func (a *agent) remove(ctx context.Context, pod *corev1.Pod) error {
	if ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
		return nil
	}
	options := *metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	return a.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
}

// update writes the status of a changed copy: objects in the informer's cache are never changed.
func (a *agent) update(ctx context.Context, pod *corev1.Pod, change func(*corev1.Pod)) error {
	changed := pod.DeepCopy()
	change(changed)
	_, err := a.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

func makeRunning(pod *corev1.Pod, ip string, now metav1.Time) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	status := &pod.Status
	status.Phase = corev1.PodRunning
	status.StartTime = &now
	status.HostIP, status.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	status.PodIP, status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, running, true)
	status.InitContainerStatuses = initStatuses(pod.Spec.InitContainers, running, now)
	setConditions(status, corev1.ConditionTrue, "", now)
}

func makeSucceeded(pod *corev1.Pod, now metav1.Time) {
	status := &pod.Status
	status.Phase = corev1.PodSucceeded
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, completed(now), false)
	status.InitContainerStatuses = initStatuses(pod.Spec.InitContainers, completed(now), now)
	setConditions(status, corev1.ConditionFalse, "PodCompleted", now)
}

func completed(now metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "Completed", StartedAt: now, FinishedAt: now,
	}}
}

// initStatuses returns completed statuses, except for sidecars, which have the state of the pod.
func initStatuses(containers []corev1.Container, sidecars corev1.ContainerState, now metav1.Time) []corev1.ContainerStatus {
	statuses := containerStatuses(containers, completed(now), true)
	for i, container := range containers {
		if ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			statuses[i].State = sidecars
			statuses[i].Ready = sidecars.Running != nil
			statuses[i].Started = ptr.To(sidecars.Running != nil)
		}
	}
	return statuses
}

func containerStatuses(containers []corev1.Container, state corev1.ContainerState, ready bool) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range containers {
		statuses = append(statuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, State: state,
			Ready: ready, Started: ptr.To(state.Running != nil),
		})
	}
	return statuses
}

// setConditions sets all conditions that a kubelet sets: readiness as given, and those of earlier
// steps to true. Conditions of other writers stay.
func setConditions(status *corev1.PodStatus, ready corev1.ConditionStatus, reason string, now metav1.Time) {
	for _, condition := range []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: ready},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, Reason: reason},
		{Type: corev1.PodReady, Status: ready, Reason: reason},
		{Type: corev1.ContainersReady, Status: ready, Reason: reason},
	} {
		condition.LastTransitionTime = now
		setCondition(status, condition)
	}
}

func setCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == condition.Type {
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}
