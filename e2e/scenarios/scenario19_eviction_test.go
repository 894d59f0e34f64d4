package scenarios_test

import (
	"context"
	"fmt"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestScenario19_EvictionAgainstABudgetIsRejected evicts a pod whose budget allows
// no disruption, and again after the budget was deleted.
func TestScenario19_EvictionAgainstABudgetIsRejected(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		runPod(ctx, t, namespace, "one")
		budgets := kit.Cluster(t).Client.PolicyV1().PodDisruptionBudgets(namespace)
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &intstr.IntOrString{IntVal: 1}, Selector: &metav1.LabelSelector{MatchLabels: kit.Labels{"app": "web"}},
		}}
		if _, err := budgets.Create(ctx, budget, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kit.Eventually(ctx, t, "the budget allows no disruption", func() error {
			now, err := budgets.Get(ctx, "all", metav1.GetOptions{})
			if err == nil && (now.Status.ObservedGeneration != now.Generation || now.Status.CurrentHealthy != 1) {
				err = fmt.Errorf("status %+v", now.Status)
			}
			return err
		})
		evict := &kubeconnectv1.CreateRequest{
			Resource: "pods", Namespace: namespace, Name: "one", Subresource: "eviction",
			Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"one"}}`)},
		}
		_, err := client.Create(ctx, evict)
		kit.WantError(t, err, connect.CodeResourceExhausted, "disruption budget")
		status := kit.WantStatus(t, err, "TooManyRequests")
		if len(status.GetCauses()) != 1 || status.GetCauses()[0].GetReason() != "DisruptionBudget" {
			t.Errorf("causes %v", status.GetCauses())
		}
		if err := budgets.Delete(ctx, "all", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		kit.Eventually(ctx, t, "the pod is evicted", func() error {
			_, err := client.Create(ctx, evict)
			return err
		})
	})
}

// runPod creates a pod whose status is Running.
func runPod(ctx context.Context, t *testing.T, namespace, name string) {
	t.Helper()
	pods, pod := kit.Cluster(t).Client.CoreV1().Pods(namespace), kit.UnscheduledPod(name)
	pod.Labels = kit.Labels{"app": "web"}
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created.Status.Phase = corev1.PodRunning
	created.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := pods.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
