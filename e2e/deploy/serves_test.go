package deploy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// makers make an object of a resource, and answer its version.
var makers = map[string]func(context.Context, *kubernetes.Clientset, string) (string, error){
	"configmaps":       makeConfigMap,
	"deployments.apps": makeDeployment,
}

// serves runs the service with the account's rights. It must serve what is there,
// and then what has been made since; and the API server may refuse it nothing, for
// without the right to watch it would list again and again.
func serves(resource string) need {
	return func(ctx context.Context, t *testing.T, _ right, who account) error {
		service := harness.StartService(t, who.kubeconfig)
		client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
		request := &kubeconnectv1.ListRequest{Resource: resource, Namespace: who.namespace}
		if _, err := client.List(ctx, request); err != nil {
			return err
		}
		version, err := makers[resource](ctx, cluster(t).Client, who.namespace)
		succeeds(t, err)
		request.MinResourceVersion = version
		list, err := client.List(ctx, request)
		if err == nil && len(list.GetObjects()) == 0 {
			err = errors.New("what is there is not served")
		}
		return errors.Join(err, refusalIn(service.Output()))
	}
}

// refusalIn is what a log says of requests that were forbidden.
func refusalIn(log string) error {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "is forbidden") {
			return errors.New(line)
		}
	}
	return nil
}

func makeConfigMap(ctx context.Context, client *kubernetes.Clientset, namespace string) (string, error) {
	made, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}, metav1.CreateOptions{})
	return made.GetResourceVersion(), err
}

func makeDeployment(ctx context.Context, client *kubernetes.Clientset, namespace string) (string, error) {
	labels := map[string]string{"made": "yes"}
	made, err := client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
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
	return made.GetResourceVersion(), err
}
