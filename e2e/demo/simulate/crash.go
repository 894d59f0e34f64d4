package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	firstBackOff = 10 * time.Second
	// lastBackOff is shorter than a kubelet's five minutes, so that there is something to see.
	lastBackOff = 40 * time.Second
)

// crashLoop is a container that runs for some time, ends, and is restarted.
type crashLoop struct {
	runs     time.Duration
	reason   string
	exitCode int32
	// onNode is an event of the node for each end; its reason is empty if there is none.
	onNode event
}

var (
	crash       = crashLoop{runs: 5 * time.Second, reason: "Error", exitCode: 2}
	outOfMemory = crashLoop{runs: 12 * time.Second, reason: "OOMKilled", exitCode: 137, onNode: event{
		kind: corev1.EventTypeWarning, reason: "OOMKilling", ofNode: true,
		message: "Memory cgroup out of memory: Killed process 4711 (java) total-vm:1830412kB, anon-rss:262100kB, file-rss:0kB, shmem-rss:0kB, UID:1000",
	}}
)

func (c crashLoop) next(pod *corev1.Pod, now metav1.Time) step {
	if len(pod.Status.ContainerStatuses) == 0 {
		return step{} // it does not run yet
	}
	running := pod.Status.ContainerStatuses[0].State.Running
	if running == nil {
		return c.restart(pod, now)
	}
	if left := c.runs - now.Sub(running.StartedAt.Time); left > 0 {
		return step{after: left}
	}
	return c.end(pod, now)
}

func (c crashLoop) end(pod *corev1.Pod, now metav1.Time) step {
	status := pod.Status.DeepCopy()
	container := &status.ContainerStatuses[0]
	wait := backOff(container.RestartCount)
	message := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", wait, container.Name, pod.Name, pod.Namespace, pod.UID)
	container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
		Reason: c.reason, ExitCode: c.exitCode, StartedAt: container.State.Running.StartedAt, FinishedAt: now,
	}
	container.State = waiting("CrashLoopBackOff", message)
	container.Started = new(bool)
	setUnready(status, now)
	events := []event{{kind: corev1.EventTypeWarning, reason: "BackOff", message: fmt.Sprintf(
		"Back-off restarting failed container %s in pod %s_%s(%s)", container.Name, pod.Name, pod.Namespace, pod.UID)}}
	if c.onNode.reason != "" {
		events = append(events, c.onNode)
	}
	return step{status: status, events: events, after: wait}
}

// restart leaves the pod unready: the container ends before its first successful probe.
func (c crashLoop) restart(pod *corev1.Pod, now metav1.Time) step {
	status := pod.Status.DeepCopy()
	container := &status.ContainerStatuses[0]
	container.RestartCount++
	container.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	started := true
	container.Started = &started
	return step{status: status, after: c.runs, events: []event{
		{kind: corev1.EventTypeNormal, reason: "Started", message: "Started container " + container.Name},
	}}
}

// backOff returns the time until a container that has been restarted n times is restarted again.
func backOff(n int32) time.Duration {
	return min(firstBackOff<<min(n, 8), lastBackOff)
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}
