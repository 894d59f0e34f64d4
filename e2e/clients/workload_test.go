package clients_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// runDeployment creates a Deployment whose pods run on the nodes, and blocks until all of them run.
func runDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32, with kit.Labels) {
	t.Helper()
	with["app"] = name
	container := corev1.Container{Name: "main", Image: "example.com/" + name + ":1"}
	_, err := kit.Cluster(t).Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: kit.Labels{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: with},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "the pods of "+name+" run", func() error {
		now := kit.GetDeployment(ctx, t, namespace, name).Status
		if now.ReadyReplicas != replicas {
			return fmt.Errorf("%d of %d are ready", now.ReadyReplicas, replicas)
		}
		return nil
	})
}

func scaleDeployment(ctx context.Context, t *testing.T, namespace, name string, replicas int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := kit.Cluster(t).Client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
