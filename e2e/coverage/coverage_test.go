package coverage_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestCoverage_ResourcesAndVerbsMatchClientGo(t *testing.T) {
	cluster := startCluster(t)
	ctx := kit.DeadlineAfter(t, waitTimeout)
	define(ctx, t, cluster)
	shared := newLab(ctx, t, cluster)
	keepStill(t, cluster)
	recipes, rows := readRecipes(t), rowsOf(t, cluster.Client.Discovery())
	lines := make([]line, len(rows))
	t.Run("rows", func(t *testing.T) {
		for i, row := range rows {
			lines[i] = line{row, map[string]*cell{}}
			t.Run(row.apiResource.GroupVersion().String()+"/"+row.name(), func(t *testing.T) {
				t.Parallel()
				walkRow(t, shared, row, parentKind(rows, row), recipes.recipeOf(t, row), lines[i].cells)
			})
		}
	})
	served, err := cluster.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	compareWithPage(t, served.GitVersion, shared.compared.Load(), lines)
}

// startCluster starts a control plane that serves all groups it supports.
func startCluster(t *testing.T) *harness.Cluster {
	t.Helper()
	cluster, err := harness.StartCluster("--nodes", "1", "--apiserver-arg", "runtime-config=api/all=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	return cluster
}

// newLab returns a lab whose namespace has the objects that the control plane creates in each
// namespace.
func newLab(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) *lab {
	t.Helper()
	const namespace = "coverage"
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := controlPlane.Client.CoreV1().Namespaces().Create(ctx, created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the namespace has a service account", func() bool {
		_, err := controlPlane.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	service := harness.StartService(t, controlPlane.Kubeconfig)
	clients := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect)
	return &lab{service: kubeconnect{clients.Resources}, pods: clients.Pods, api: clientGo{controlPlane}, namespace: namespace}
}

// keepStill suspends the other writers of objects, so that two equal objects stay equal.
func keepStill(t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	for _, component := range []harness.Component{controlPlane.Controllers(), controlPlane.Scheduler(), controlPlane.Nodes()} {
		if err := component.Freeze(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = component.Thaw() })
	}
}

// parentKind returns the kind of the objects of a row.
func parentKind(rows []row, row row) schema.GroupVersionKind {
	for _, other := range rows {
		if other.apiResource == row.apiResource && other.subresource == "" {
			return other.kind
		}
	}
	return row.kind
}
