package loglines

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodFields are the paths of the fields of a pod that [ReadPod] reads.
var PodFields = []string{
	"spec.initContainers[*].name", "spec.containers[*].name", "spec.ephemeralContainers[*].name",
	"status.initContainerStatuses", "status.containerStatuses", "status.ephemeralContainerStatuses",
}

// Pod is a pod with the state of its containers.
type Pod struct {
	Namespace, Name, UID string
	Containers           []Container
}

// Container is the state of a container. A container that has never started is neither running nor
// ended.
type Container struct {
	Name string
	// Run is the number of restarts before the last run.
	Run      int
	Running  bool
	Started  time.Time    // of the last run; zero if it is not known
	Ended    *Termination // of the last run; nil if it has not ended
	Previous *Termination // of the run before it; nil if there is none
	Waiting  *Waiting     // why the container is not running; nil if it is, or has ended
}

// Termination is the end of a run.
type Termination struct {
	Reason   string
	ExitCode int32
}

// Waiting is the reason why a container is not running.
type Waiting struct{ Reason, Message string }

// isReadable reports whether the container has a log.
func (c Container) isReadable() bool { return c.Running || c.Ended != nil }

// ReadPod reads a pod from its JSON, which need not have other fields than PodFields.
func ReadPod(namespace, name, uid string, text []byte) (Pod, error) {
	var read corev1.Pod
	if err := json.Unmarshal(text, &read); err != nil {
		return Pod{}, err
	}
	pod := Pod{Namespace: namespace, Name: name, UID: uid}
	for _, container := range read.Spec.InitContainers {
		pod.add(container.Name, read.Status.InitContainerStatuses)
	}
	for _, container := range read.Spec.Containers {
		pod.add(container.Name, read.Status.ContainerStatuses)
	}
	for _, container := range read.Spec.EphemeralContainers {
		pod.add(container.Name, read.Status.EphemeralContainerStatuses)
	}
	return pod, nil
}

func (p *Pod) add(name string, statuses []corev1.ContainerStatus) {
	for i := range statuses {
		if statuses[i].Name == name {
			p.Containers = append(p.Containers, stateOf(&statuses[i]))
			return
		}
	}
	p.Containers = append(p.Containers, Container{Name: name, Waiting: &Waiting{Reason: "Pending", Message: "the node has not reported the container yet"}})
}

func stateOf(status *corev1.ContainerStatus) Container {
	container := Container{Name: status.Name, Run: int(status.RestartCount), Previous: terminationOf(status.LastTerminationState.Terminated)}
	switch state := status.State; {
	case state.Running != nil:
		container.Running, container.Started = true, state.Running.StartedAt.Time
	case state.Terminated != nil:
		container.Ended, container.Started = terminationOf(state.Terminated), state.Terminated.StartedAt.Time
	default: // it waits for its next run; its log is that of the last one, if there was one
		container.Waiting = waitingOf(state.Waiting)
		if last := status.LastTerminationState.Terminated; last != nil {
			container.Ended, container.Started = terminationOf(last), last.StartedAt.Time
		}
	}
	return container
}

func terminationOf(state *corev1.ContainerStateTerminated) *Termination {
	if state == nil {
		return nil
	}
	return &Termination{Reason: state.Reason, ExitCode: state.ExitCode}
}

func waitingOf(state *corev1.ContainerStateWaiting) *Waiting {
	if state == nil {
		return &Waiting{Reason: "Pending"}
	}
	return &Waiting{Reason: state.Reason, Message: state.Message}
}

// endOf returns the end of a run; nil if it has not ended, or if its end is not known any more.
func (c Container) endOf(run int) *Termination {
	switch run {
	case c.Run:
		return c.Ended
	case c.Run - 1:
		return c.Previous
	}
	return nil
}
