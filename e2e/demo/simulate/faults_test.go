package simulate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestCrashLoop_EndsAndRestarts(t *testing.T) {
	pod := runningPod()
	if first := outOfMemory.next(pod, later(time.Second)); first.status != nil || first.after != outOfMemory.runs-time.Second {
		t.Fatalf("the container ends early: %+v", first)
	}
	ended := outOfMemory.next(pod, later(outOfMemory.runs))
	container := ended.status.ContainerStatuses[0]
	if last := container.LastTerminationState.Terminated; last.Reason != "OOMKilled" || last.ExitCode != 137 || last.StartedAt != now {
		t.Errorf("terminated: %+v", last)
	}
	if container.State.Waiting.Reason != "CrashLoopBackOff" || container.Ready {
		t.Errorf("container: %+v", container)
	}
	if len(ended.events) != 2 || ended.events[0].reason != "BackOff" || !ended.events[1].ofNode {
		t.Errorf("events: %+v", ended.events)
	}
	pod.Status = *ended.status
	restarted := outOfMemory.next(pod, later(time.Minute)).status.ContainerStatuses[0]
	if restarted.RestartCount != 1 || restarted.State.Running == nil || restarted.LastTerminationState.Terminated == nil {
		t.Errorf("restarted: %+v", restarted)
	}
}

func TestCrashLoop_WaitsUntilThePodRuns(t *testing.T) {
	pod := runningPod()
	pod.Status.ContainerStatuses = nil
	if got := crash.next(pod, now); got.status != nil || got.after != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestBackOff_DoublesUpToALimit(t *testing.T) {
	for restarts, want := range map[int32]time.Duration{0: firstBackOff, 1: 2 * firstBackOff, 2: lastBackOff, 1000: lastBackOff} {
		if got := backOff(restarts); got != want {
			t.Errorf("%d restarts: %s, want %s", restarts, got, want)
		}
	}
}

func TestNextPull_AlternatesBetweenAttemptAndBackOff(t *testing.T) {
	pod := runningPod()
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	for _, want := range []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull"} {
		pod.Status = *nextPull(pod, now).status
		if got := reasonOfWaiting(pod); got != want || pod.Status.Phase != corev1.PodPending {
			t.Errorf("waiting for %s in phase %s, want %s", got, pod.Status.Phase, want)
		}
	}
}

func TestNextProbe_ChangesTheStatusOnce(t *testing.T) {
	pod := runningPod()
	first := nextProbe(pod, now)
	ready := conditionOf(first.status, corev1.PodReady)
	if ready.Status != corev1.ConditionFalse || ready.Message != "containers with unready status: [ledger]" {
		t.Errorf("condition: %+v", ready)
	}
	pod.Status = *first.status
	second := nextProbe(pod, later(time.Minute))
	if second.status != nil || second.events[0].reason != "Unhealthy" {
		t.Errorf("second step: %+v", second)
	}
}

func TestNextFailure_EndsThePod(t *testing.T) {
	pod := runningPod()
	pod.Status = *nextFailure(pod, now).status
	if pod.Status.Phase != corev1.PodFailed || pod.Status.ContainerStatuses[0].State.Terminated.ExitCode != 1 {
		t.Errorf("status: %+v", pod.Status)
	}
	if again := nextFailure(pod, now); again.status != nil {
		t.Errorf("the pod fails again: %+v", again)
	}
}

func TestSetPodCondition_KeepsTheTimeOfAnUnchangedStatus(t *testing.T) {
	status := &corev1.PodStatus{}
	setPodCondition(status, corev1.PodReady, corev1.ConditionFalse, "A", "", now)
	setPodCondition(status, corev1.PodReady, corev1.ConditionFalse, "B", "", later(time.Minute))
	if got := conditionOf(status, corev1.PodReady); got.LastTransitionTime != now || got.Reason != "B" {
		t.Errorf("condition: %+v", got)
	}
	setPodCondition(status, corev1.PodReady, corev1.ConditionTrue, "", "", later(time.Minute))
	if got := conditionOf(status, corev1.PodReady); got.LastTransitionTime != later(time.Minute) {
		t.Errorf("condition: %+v", got)
	}
}
