package kit

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// ServeAggregated makes the API server forward requests for a version of a group to a server with TLS
// at a loopback address, HOST:PORT, until the test ends.
func ServeAggregated(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string, groupVersion schema.GroupVersion, address string) {
	t.Helper()
	service, _, _ := strings.Cut(groupVersion.Group, ".")
	_, port, _ := net.SplitHostPort(address)
	number, _ := strconv.Atoi(port)
	if _, err := controlPlane.Client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost",
			Ports: []corev1.ServicePort{{Port: int32(number)}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	services := controlPlane.Dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	name := groupVersion.Version + "." + groupVersion.Group
	if _, err := services.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": groupVersion.Group, "version": groupVersion.Version, "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": namespace, "name": service, "port": int64(number)},
		},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := services.Delete(context.WithoutCancel(ctx), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
