package clients_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestClients_WatchSeveralResourcesInOneStream breaks the stream between two changes that are sent
// as patches: the programs must still have complete objects.
func TestClients_WatchSeveralResourcesInOneStream(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, command := range map[string][]string{
		"Python with threads":     append(kit.PythonProgram(t, "python", "watchmany.py"), "threads"),
		"Python with asyncio":     append(kit.PythonProgram(t, "python", "watchmany.py"), "asyncio"),
		"Node with gRPC":          append(kit.NodeProgram(t, "node", "watchmany.mjs"), "grpc"),
		"Node with Connect":       append(kit.NodeProgram(t, "node", "watchmany.mjs"), "connect"),
		"Node, browser transport": append(kit.NodeProgram(t, "node", "watchmany.mjs"), "web"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			settings, secrets := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace), kit.Cluster(t).Client.CoreV1().Secrets(namespace)
			web := metav1.ObjectMeta{Name: "key", Labels: kit.Labels{"app": "web"}}
			if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: web}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			settings.Create("color", kit.Labels{"app": "web"})
			link := harness.StartProxy(t, kit.HostPort(service), harness.None)
			caller := startProgram(t, command, "http://"+link.Address(), namespace)
			caller.holds(ctx, kit.Labels{"app": "web"}, kit.Labels{"app": "web"})
			for i := range 3 {
				step := fmt.Sprint(i)
				settings.Relabel("color", map[string]any{"step": step})
				caller.holds(ctx, kit.Labels{"app": "web", "step": step}, nil)
				link.Cut()
				label := fmt.Appendf(nil, `{"metadata":{"labels":{"step":%q}}}`, step)
				if _, err := secrets.Patch(ctx, "key", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				caller.holds(ctx, kit.Labels{"app": "web", "step": step}, kit.Labels{"app": "web", "step": step})
			}
			settings.Create("end", kit.Labels{"app": "web"})
			caller.Ends(ctx)
		})
	}
}
