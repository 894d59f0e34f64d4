package console_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestYAML_ExplainsErrorsAndConflictsAndLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createPod(ctx, t, namespace, "one", kit.Labels{"team": "red"})
	browser := startConsole(t, "yaml.mjs", service.Address, namespace, "one", artifacts(t))

	var page struct{ Words, Text string }
	browser.Step(ctx, "refused", &page)
	kit.WantWords(t, page.Words, refusal(ctx, t, namespace, "one", teamPatch("not valid!")))
	kit.WantWords(t, page.Text, "team: not valid!")
	wantLabels(ctx, t, namespace, "one", "map[team:red]")
	browser.Step(ctx, "typed", &page)
	if _, err := patchPod(ctx, t, namespace, "one", teamPatch("green")); err != nil {
		t.Fatal(err)
	}
	browser.Step(ctx, "conflict", &page)
	kit.WantWords(t, page.Words, "metadata.labels.team", "red", "green", "blue", "console.test")
	kit.WantWords(t, page.Text, "team: blue")
	wantLabels(ctx, t, namespace, "one", "map[team:green]")
	browser.Step(ctx, "applied", &page)
	wantLabels(ctx, t, namespace, "one", "map[team:blue]")
	browser.Ends(ctx)
}

func teamPatch(team string) string { return `{"metadata":{"labels":{"team":"` + team + `"}}}` }

// patchPod makes a change as another user would.
func patchPod(ctx context.Context, t *testing.T, namespace, name, patch string) (metav1.Object, error) {
	t.Helper()
	return kit.Cluster(t).Client.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "console.test"})
}

// refusal returns the API server's own error for a patch.
func refusal(ctx context.Context, t *testing.T, namespace, name, patch string) string {
	t.Helper()
	_, err := patchPod(ctx, t, namespace, name, patch)
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) {
		t.Fatalf("the API server does not reject the patch: %v", err)
	}
	return refused.ErrStatus.Message
}

func createPod(ctx context.Context, t *testing.T, namespace, name string, with kit.Labels) {
	t.Helper()
	pod := kit.UnscheduledPod(name)
	pod.Labels = with
	if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wantLabels fails the test unless the pod in the cluster has these labels.
func wantLabels(ctx context.Context, t *testing.T, namespace, name, want string) {
	t.Helper()
	pod, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(pod.Labels); got != want {
		t.Errorf("the labels of %s in the cluster are %s, want %s", name, got, want)
	}
}
