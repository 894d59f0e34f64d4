package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

var now = metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))

func TestPod_RunningHasAddressAndReadyContainers(t *testing.T) {
	pod := newPod()
	makeRunning(pod, "10.128.0.1", now)
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP != "10.128.0.1" {
		t.Errorf("phase %s, address %s", pod.Status.Phase, pod.Status.PodIP)
	}
	if main := pod.Status.ContainerStatuses[0]; !main.Ready || main.State.Running == nil {
		t.Errorf("container %+v", main)
	}
	if got := conditionOf(pod, corev1.PodReady); got != corev1.ConditionTrue {
		t.Errorf("condition Ready %s", got)
	}
}

func TestPod_InitContainersCompleteAndSidecarsRun(t *testing.T) {
	pod := newPod()
	makeRunning(pod, "10.128.0.1", now)
	if state := pod.Status.InitContainerStatuses[0].State; state.Terminated == nil {
		t.Errorf("init container %+v", state)
	}
	if state := pod.Status.InitContainerStatuses[1].State; state.Running == nil {
		t.Errorf("sidecar %+v", state)
	}
}

func TestPod_SucceededIsNotReadyAndTerminated(t *testing.T) {
	pod := newPod()
	makeRunning(pod, "10.128.0.1", now)
	makeSucceeded(pod, now)
	if got := conditionOf(pod, corev1.PodReady); got != corev1.ConditionFalse {
		t.Errorf("condition Ready %s", got)
	}
	for _, status := range append(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses...) {
		if status.State.Terminated == nil {
			t.Errorf("%s: %+v", status.Name, status.State)
		}
	}
}

func TestPod_KeepsConditionsOfOtherWriters(t *testing.T) {
	pod := newPod()
	makeRunning(pod, "10.128.0.1", now)
	if got := conditionOf(pod, corev1.PodScheduled); got != corev1.ConditionTrue {
		t.Errorf("condition PodScheduled %q", got)
	}
}

func TestPod_KeepsAForeignStatus(t *testing.T) {
	pod := newPod()
	pod.Namespace, pod.Name = "default", "foreign"
	pod.Annotations = map[string]string{ForeignStatusAnnotation: ""}
	client := fake.NewClientset(pod)
	a := newAgent(client)
	defer a.nodeKeys.keys.ShutDown()
	defer a.podKeys.keys.ShutDown()
	if err := a.pods.GetStore().Add(pod); err != nil {
		t.Fatal(err)
	}
	if err := a.playPod(t.Context(), "default/foreign"); err != nil || len(client.Actions()) > 0 {
		t.Errorf("requests %v, error %v", client.Actions(), err)
	}
}

// newPod returns a scheduled pod with a container, an init container and a sidecar.
func newPod() *corev1.Pod {
	return &corev1.Pod{
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "main"}},
			InitContainers: []corev1.Container{
				{Name: "init", Image: "init"},
				{Name: "sidecar", Image: "sidecar", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		}},
	}
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status
		}
	}
	return ""
}
