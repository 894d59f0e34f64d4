package kit

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodNames returns the names of the pods in the cluster, in order.
func PodNames(ctx context.Context, t *testing.T, namespace, labelSelector string) []string {
	t.Helper()
	pods, err := Cluster(t).Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelSelector})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// WantNames fails the test unless a program has received exactly these objects.
func WantNames(t *testing.T, description string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s %q, the cluster has %q", description, got, want)
	}
}

// CreateDeployment creates a deployment whose pods no node runs.
func CreateDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32) *appsv1.Deployment {
	t.Helper()
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: Labels{"app": name}}, Spec: UnscheduledPod("").Spec}
	created, err := Cluster(t).Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: Labels{"app": name}},
			Template: template,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// GetDeployment returns a deployment as the API server has it.
func GetDeployment(ctx context.Context, t *testing.T, namespace, name string) *appsv1.Deployment {
	t.Helper()
	now, err := Cluster(t).Client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return now
}
