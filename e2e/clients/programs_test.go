package clients_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestClients_ReadWatchAndChangeTheCluster(t *testing.T) {
	t.Parallel()
	for name, command := range callerPrograms(t) {
		t.Run(name+" in plain text", func(t *testing.T) {
			t.Parallel()
			service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
			readWatchAndChange(t, command, service)
		})
		t.Run(name+" over TLS", func(t *testing.T) {
			t.Parallel()
			certificate := kit.NewCertificate(t)
			service := kit.StartTLSService(t, kit.Cluster(t), certificate)
			readWatchAndChange(t, command, service, certificate.CertFile)
		})
	}
}

func TestClients_DoNotTrustAnUnknownCertificate(t *testing.T) {
	t.Parallel()
	service := kit.StartTLSService(t, kit.Cluster(t), kit.NewCertificate(t))
	for name, command := range callerPrograms(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := kit.NewCertificate(t)
			caller := startProgram(t, command, service.Address, "default", other.CertFile)
			if err := caller.Process.Wait(kit.Deadline(t)); err == nil {
				t.Errorf("the program succeeded:\n%s", caller.Process.Output())
			}
			if !strings.Contains(strings.ToLower(caller.Process.Output()), "certificate") {
				t.Errorf("output:\n%s", caller.Process.Output())
			}
		})
	}
}

// callerPrograms returns programs with the same steps, by the name of their client.
func callerPrograms(t *testing.T) map[string][]string {
	t.Helper()
	return map[string][]string{
		"Python with threads": kit.PythonProgram(t, "python", "threads.py"),
		"Python with asyncio": kit.PythonProgram(t, "python", "coroutines.py"),
		"Node with gRPC":      append(kit.NodeProgram(t, "node", "program.mjs"), "grpc"),
		"Node with Connect":   append(kit.NodeProgram(t, "node", "program.mjs"), "connect"),
	}
}

// readWatchAndChange makes a program scale a Deployment from three pods to five, and write an
// object of its own, and compares its reports with the cluster, and those of failed calls with the log of
// the service.
func readWatchAndChange(t *testing.T, command []string, service *harness.Service, caFile ...string) {
	t.Helper()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	settings := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("settings", nil)
	kit.RunDeployment(ctx, t, namespace, "web", 3, kit.Labels{})
	kit.RunDeployment(ctx, t, namespace, "other", 1, kit.Labels{})
	three := kit.PodNames(ctx, t, namespace, "app=web")
	notes := changesOf(ctx, t, namespace, "notes")

	caller := startProgram(t, command, append([]string{service.Address, namespace}, caFile...)...)
	caller.wantListed(ctx, three)
	caller.wantGot(ctx, settings)
	caller.wantScaled(ctx, namespace, three)
	caller.wantKept(ctx, notes)
	missing := caller.wantFailure(ctx, "missing", "NotFound", `configmaps "nobody" not found`)
	refused := caller.wantFailure(ctx, "refused", "Invalid", "must be greater than or equal to 0", "spec.replicas")
	unwatched := caller.wantFailure(ctx, "unwatched", "NotFound", `"nothings"`)
	caller.Ends(ctx)
	wantLogged(ctx, t, service, missing, "ResourceService/Get", "NotFound")
	wantLogged(ctx, t, service, refused, "ResourceService/Patch", "Invalid")
	wantLogged(ctx, t, service, unwatched, "ResourceService/Watch", "NotFound")
}

// changesOf returns the changes to a ConfigMap from now on, from a watch of the API server.
func changesOf(ctx context.Context, t *testing.T, namespace, name string) <-chan watch.Event {
	t.Helper()
	changes, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	return changes.ResultChan()
}
