package deploy_test

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// makers maps resources to functions that create an object.
var makers = map[string]func(context.Context, *testing.T, string) metav1.Object{
	"configmaps":  makeConfigMap,
	"deployments": makeDeployment,
	"gadgets":     makeGadget,
}

// serves lists the existing objects as the administrator, and then those created since. The API
// server must not reject any request of the service meanwhile: without permission to watch, the
// service would list repeatedly.
func serves(resource string) try {
	return func(ctx context.Context, t *testing.T, installed installation) error {
		withGadgets(ctx, t)
		namespace := newNamespace(ctx, t, cluster(t), nil)
		client := installed.byCertificate(ctx, t).Resources
		request := &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace}
		if _, err := client.List(ctx, request); err != nil {
			return err
		}
		request.MinResourceVersion = makers[resource](ctx, t, namespace).GetResourceVersion()
		list, err := client.List(ctx, request)
		if err == nil && len(list.GetObjects()) == 0 {
			err = errors.New("an existing object is not served")
		}
		if err == nil && list.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
			err = errors.New(readAsCaller)
		}
		return errors.Join(err, installed.refused())
	}
}

func makeConfigMap(ctx context.Context, t *testing.T, namespace string) metav1.Object {
	t.Helper()
	created, err := cluster(t).Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}, metav1.CreateOptions{})
	succeeds(t, err)
	return created
}

func makeDeployment(ctx context.Context, t *testing.T, namespace string) metav1.Object {
	t.Helper()
	labels := map[string]string{"made": "yes"}
	created, err := cluster(t).Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "images.example/c"}}},
			},
		},
	}, metav1.CreateOptions{})
	succeeds(t, err)
	return created
}
