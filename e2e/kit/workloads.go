package kit

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// RunDeployment creates a Deployment whose pods run on the nodes, and blocks until all of them run.
func RunDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32, with Labels) {
	t.Helper()
	with["app"] = name
	container := corev1.Container{Name: "main", Image: "example.com/" + name + ":1"}
	_, err := Cluster(t).Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: Labels{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: with},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	Eventually(ctx, t, "the pods of "+name+" run", func() error {
		now := GetDeployment(ctx, t, namespace, name).Status
		if now.ReadyReplicas != replicas {
			return fmt.Errorf("%d of %d are ready", now.ReadyReplicas, replicas)
		}
		return nil
	})
}

// ScaleDeployment sets the number of replicas of a Deployment.
func ScaleDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := Cluster(t).Client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
