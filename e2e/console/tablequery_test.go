package console_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestTable_SortsAndFilters(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	for _, name := range []string{"web-a", "web-b"} {
		createPod(ctx, t, namespace, name, kit.Labels{"app": "web"})
		kit.SetContainers(ctx, t, namespace, name, kit.Running("main", 0))
	}
	createPod(ctx, t, namespace, "db", nil)
	createPod(ctx, t, namespace, "job", nil)
	browser := startConsole(t, "tablequery.mjs", service.Address, namespace, artifacts(t))

	var page struct{ Address, Words, Pressed string }
	browser.Step(ctx, "sorted", &page)
	kit.WantWords(t, page.Address, "sort=metadata.name")
	browser.Step(ctx, "searched", &page)
	browser.Step(ctx, "selected", &page)
	kit.WantWords(t, page.Address, "labels=app")
	browser.Step(ctx, "chip", &page)
	kit.WantWords(t, page.Address, "quick=Pending")
	if page.Pressed != "true" {
		t.Errorf("aria-pressed of a selected chip is %q", page.Pressed)
	}
	browser.Step(ctx, "refused", &page)
	kit.WantWords(t, page.Words, "Syntax error")
	browser.Step(ctx, "filtered", &page)
	kit.WantWords(t, page.Address, "filter=object.metadata.name")
	browser.Ends(ctx)
}

// TestTable_HasFewRowsInTheDocument scrolls through 2,000 pods: only the visible rows, and a few
// around them, may be in the document.
func TestTable_HasFewRowsInTheDocument(t *testing.T) {
	t.Parallel()
	const count, limit = 2000, 100
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	pods := kit.Cluster(t).Client.CoreV1().Pods(namespace)
	must(t, kit.CreateMany(ctx, count, func(ctx context.Context, i int) error {
		_, err := pods.Create(ctx, kit.UnscheduledPod(podName(i)), metav1.CreateOptions{})
		return err
	}))
	browser := startConsole(t, "scroll.mjs", service.Address, namespace, podName(0), podName(count-1))

	var shown struct{ Total, Rows int }
	for _, step := range []string{"first", "last", "first again"} {
		if browser.Step(ctx, step, &shown); shown.Rows > limit || shown.Rows < 5 {
			t.Errorf("%s: %d rows in the document, want at most %d", step, shown.Rows, limit)
		}
	}
	if shown.Total != count {
		t.Errorf("the table has %d rows, want %d", shown.Total, count)
	}
	browser.Ends(ctx)
}

func podName(i int) string { return fmt.Sprintf("pod-%04d", i) }

func TestTable_LabelsTheSelectedPods(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createPod(ctx, t, namespace, "one", kit.Labels{"tier": "frontend"})
	createPod(ctx, t, namespace, "two", kit.Labels{"team": "red"})
	createPod(ctx, t, namespace, "other", kit.Labels{"team": "red"})
	browser := startConsole(t, "labels.mjs", service.Address, namespace, artifacts(t), "one", "two")

	var page struct{ Words string }
	browser.Step(ctx, "labelled", &page)
	wantLabels(ctx, t, namespace, "one", "map[team:blue]")
	wantLabels(ctx, t, namespace, "two", "map[team:blue]")
	wantLabels(ctx, t, namespace, "other", "map[team:red]")
	browser.Step(ctx, "refused", &page)
	patch := `{"metadata":{"labels":{"-no-domain/key":"value"}}}`
	kit.WantWords(t, page.Words, refusal(ctx, t, namespace, "one", patch), refusal(ctx, t, namespace, "two", patch))
	browser.Ends(ctx)
}
