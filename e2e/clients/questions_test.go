package clients_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestClients_QueryBeyondSelectors makes queries with the clients' own methods, and compares
// the programs' reports of the responses with the cluster.
func TestClients_QueryBeyondSelectors(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"Python":            kit.PythonProgram(t, "python", "questions.py"),
		"Node with gRPC":    append(kit.NodeProgram(t, "node", "questions.mjs"), "grpc"),
		"Node with Connect": append(kit.NodeProgram(t, "node", "questions.mjs"), "connect"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask(t, command)
		})
	}
}

func ask(t *testing.T, command []string) {
	t.Helper()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	for name, data := range map[string]map[string]string{
		"small": {"size": "500m"}, "middle": {"size": "2"}, "large": {"size": "10"}, "without": {"other": "x"},
	} {
		createConfigMap(ctx, t, namespace, name, data)
	}
	kit.RunDeployment(ctx, t, namespace, "web", 3, kit.Labels{})
	kit.RunDeployment(ctx, t, namespace, "other", 1, kit.Labels{})
	untilEventsAbout(ctx, t, namespace, "web", "other")

	caller := startProgram(t, command, service.Address, namespace)
	caller.wantSomeFields(ctx)
	caller.wantFewChanges(ctx)
	caller.wantRelatives(ctx, namespace)
	caller.wantCounted(ctx)
	caller.wantLatest(ctx, namespace)
	caller.wantMetadata(ctx)
	caller.wantPrinted(ctx, namespace)
	caller.wantDiscovered(ctx)
	caller.Ends(ctx)
}

func createConfigMap(ctx context.Context, t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// untilEventsAbout blocks until the control plane has created events of Deployments.
func untilEventsAbout(ctx context.Context, t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		kit.Eventually(ctx, t, "there are events about "+name, func() error {
			options := metav1.ListOptions{FieldSelector: "involvedObject.kind=Deployment,involvedObject.name=" + name}
			events, err := kit.Cluster(t).Client.CoreV1().Events(namespace).List(ctx, options)
			if err == nil && len(events.Items) == 0 {
				err = fmt.Errorf("there are none")
			}
			return err
		})
	}
}
