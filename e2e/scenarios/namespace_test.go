package scenarios_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func labelNamespace(ctx context.Context, t *testing.T, name, value string) *corev1.Namespace {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"e2e":"` + value + `"}}}`)
	namespace, err := kit.Cluster(t).Client.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return namespace
}
