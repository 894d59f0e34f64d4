package clients_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonClient_WaitsForWhatItChanges runs a program that applies objects from YAML, restarts,
// scales and evicts, and waits for the result of each. Each wait must see the change before it,
// although the service's cache may be older.
func TestPythonClient_WaitsForWhatItChanges(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			caller := startProgram(t, kit.PythonProgram(t, "python", "rollout.py"), way, service.Address, namespace)
			caller.wantApplied(ctx)
			caller.wantRolledOut(ctx, "complete", 2, 1)
			caller.wantRolledOut(ctx, "restarted", 2, 2)
			caller.wantRolledOut(ctx, "scaled", 3, 3)
			caller.wantEvicted(ctx, namespace)
			caller.wantLastState(ctx, namespace)
			caller.Ends(ctx)
			_, err := kit.Cluster(t).Client.RbacV1().ClusterRoles().Get(ctx, namespace, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("the ClusterRole that the program has deleted: %v", err)
			}
			template := kit.GetDeployment(ctx, t, namespace, "web").Spec.Template
			if template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" {
				t.Errorf("annotations of the pods: %v", template.Annotations)
			}
		})
	}
}

func (p program) wantApplied(ctx context.Context) {
	p.t.Helper()
	var applied struct{ Kinds []string }
	p.Step(ctx, "applied", &applied)
	if want := []string{"ConfigMap", "Deployment", "ClusterRole"}; !slices.Equal(applied.Kinds, want) {
		p.t.Errorf("applied %q, want %q", applied.Kinds, want)
	}
}

// wantRolledOut fails the test unless a wait ended at this generation, with all replicas.
func (p program) wantRolledOut(ctx context.Context, step string, replicas, generation int) {
	p.t.Helper()
	var rollout struct{ Available, Updated, Generation, Observed int }
	p.Step(ctx, step, &rollout)
	if rollout.Available != replicas || rollout.Updated != replicas {
		p.t.Errorf("%s: %+v, want %d replicas", step, rollout, replicas)
	}
	if rollout.Generation < generation || rollout.Observed < generation {
		p.t.Errorf("%s: %+v, want generation %d", step, rollout, generation)
	}
}

func (p program) wantEvicted(ctx context.Context, namespace string) {
	p.t.Helper()
	var evicted struct{ UID string }
	p.Step(ctx, "evicted", &evicted)
	pods, err := kit.Cluster(p.t).Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if string(pod.UID) == evicted.UID {
			p.t.Errorf("the evicted pod %s still exists", pod.Name)
		}
	}
}

// wantLastState fails the test unless a wait that timed out has reported the state of the object.
func (p program) wantLastState(ctx context.Context, namespace string) {
	p.t.Helper()
	var waited struct{ Message string }
	p.Step(ctx, "waited", &waited)
	if !strings.Contains(waited.Message, "of deployments "+namespace+"/web: not met within 1 seconds; last state: ") ||
		!strings.Contains(waited.Message, "Available is ") {
		p.t.Errorf("message %q", waited.Message)
	}
	var allowed struct{ Delete bool }
	p.Step(ctx, "allowed", &allowed)
	if !allowed.Delete {
		p.t.Error("the program is not allowed to delete pods")
	}
}
