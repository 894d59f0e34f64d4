package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestClients_WatchSeveralResourcesInOneStream breaks the stream between two changes that are sent
// as patches: the programs must still have complete objects.
func TestClients_WatchSeveralResourcesInOneStream(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for name, command := range map[string][]string{
		"Python with threads":     append(pythonProgram(t, "python", "watchmany.py"), "threads"),
		"Python with asyncio":     append(pythonProgram(t, "python", "watchmany.py"), "asyncio"),
		"Node with gRPC":          append(nodeProgram("node", "watchmany.mjs"), "grpc"),
		"Node with Connect":       append(nodeProgram("node", "watchmany.mjs"), "connect"),
		"Node, browser transport": append(nodeProgram("node", "watchmany.mjs"), "web"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, cluster(t))
			settings, secrets := configMapsIn(ctx, t, cluster(t), namespace), cluster(t).Client.CoreV1().Secrets(namespace)
			web := metav1.ObjectMeta{Name: "key", Labels: labels{"app": "web"}}
			if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: web}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			settings.create("color", labels{"app": "web"})
			link := harness.StartProxy(t, hostPort(service), harness.None)
			caller := startProgram(t, command, "http://"+link.Address(), namespace)
			caller.holds(ctx, labels{"app": "web"}, labels{"app": "web"})
			for i := range 3 {
				step := fmt.Sprint(i)
				settings.relabel("color", map[string]any{"step": step})
				caller.holds(ctx, labels{"app": "web", "step": step}, nil)
				link.Cut()
				label := fmt.Appendf(nil, `{"metadata":{"labels":{"step":%q}}}`, step)
				if _, err := secrets.Patch(ctx, "key", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				caller.holds(ctx, labels{"app": "web", "step": step}, labels{"app": "web", "step": step})
			}
			settings.create("end", labels{"app": "web"})
			caller.ends(ctx)
		})
	}
}

// holds blocks until the program has these labels of a ConfigMap and of a Secret, where nil matches
// any, and fails the test unless each watch has begun once.
func (p program) holds(ctx context.Context, settings, secret labels) {
	p.t.Helper()
	_, err := p.process.UntilPrints(ctx, func(line string) bool {
		var report struct {
			Step                string
			ConfigMaps, Secrets map[string]labels
			Resets              map[string]int
		}
		if json.Unmarshal([]byte(line), &report) != nil || report.Step != "holds" {
			return false
		}
		if want := map[string]int{"configmaps": 1, "secrets": 1}; !reflect.DeepEqual(report.Resets, want) {
			p.t.Errorf("resets of the watches: %v", report.Resets)
		}
		return reflect.DeepEqual(report.ConfigMaps["color"], settings) &&
			(secret == nil || reflect.DeepEqual(report.Secrets["key"], secret))
	})
	if err != nil {
		p.t.Fatalf("%v: the program does not have %v and %v", err, settings, secret)
	}
}
