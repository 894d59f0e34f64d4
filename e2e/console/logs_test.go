package console_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestLogs_OfAPodAndOfAWorkload(t *testing.T) {
	t.Parallel()
	l, service := kit.NewLoggingPods(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	one := l.Start("one", kit.Labels{"app": "web"}, "main")[0]
	two := l.Start("two", kit.Labels{"app": "web"}, "main")[0]
	adopt(t, l)
	one.Write("first line\nsecond line\n")
	two.Write("line of another pod\n")
	browser := startConsole(t, "logs.mjs", service.Address, l.Namespace, "one", "replicasets.apps/"+l.Namespace+"/web", artifacts(t))

	var step struct{ Shown int }
	browser.Step(l.Ctx, "read", &step)
	one.Write("followed line\n")
	browser.Step(l.Ctx, "followed", &step)
	browser.Step(l.Ctx, "paused", &step)
	one.Write("line while paused\n")
	if browser.Step(l.Ctx, "resumed", &step); step.Shown > 0 {
		t.Error("the page shows a line that was written while it was paused")
	}
	browser.Step(l.Ctx, "workload", &step)
	two.Write("later line of another pod\n")
	browser.Step(l.Ctx, "workload followed", &step)
	browser.Ends(l.Ctx)
}

// adopt creates a ReplicaSet that becomes the owner of both pods.
func adopt(t *testing.T, l *kit.LoggingPods) {
	t.Helper()
	sets, replicas := kit.Cluster(t).Client.AppsV1().ReplicaSets(l.Namespace), int32(2)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	set.Spec.Replicas = &replicas
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: kit.Labels{"app": "web"}}
	set.Spec.Template.Labels = kit.Labels{"app": "web"}
	set.Spec.Template.Spec = kit.UnscheduledPod("").Spec
	if _, err := sets.Create(l.Ctx, set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
