package e2e_test

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

// runDeployment creates a Deployment whose pods run on the nodes, and blocks until all of them run.
func runDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32, with labels) {
	t.Helper()
	with["app"] = name
	container := corev1.Container{Name: "main", Image: "example.com/" + name + ":1"}
	_, err := cluster(t).Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: with},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the pods of "+name+" run", func() error {
		now := getDeployment(ctx, t, namespace, name).Status
		if now.ReadyReplicas != replicas {
			return fmt.Errorf("%d of %d are ready", now.ReadyReplicas, replicas)
		}
		return nil
	})
}

func scaleDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := cluster(t).Client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// podNames returns the names of the pods in the cluster, in order.
func podNames(ctx context.Context, t *testing.T, namespace, labelSelector string) []string {
	t.Helper()
	pods, err := cluster(t).Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelSelector})
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

// wantNames fails the test unless a program has received exactly these objects.
func wantNames(t *testing.T, description string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s %q, the cluster has %q", description, got, want)
	}
}
