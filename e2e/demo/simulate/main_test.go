package simulate

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC))

func later(wait time.Duration) metav1.Time { return metav1.NewTime(now.Add(wait)) }

// runningPod returns a pod whose container runs since now.
func runningPod() *corev1.Pod {
	started := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "billing", Name: "ledger-1", UID: "1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ledger", Image: "ledger:1"}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "ledger", Ready: true, State: started}},
		},
	}
}

func conditionOf(status *corev1.PodStatus, kind corev1.PodConditionType) corev1.PodCondition {
	for _, condition := range status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return corev1.PodCondition{}
}
