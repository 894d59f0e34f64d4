package e2e_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// newNamespace creates a namespace for this test, and waits for the objects that the control plane
// creates in every namespace, so that they do not appear later.
func newNamespace(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) string {
	t.Helper()
	template := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	created, err := controlPlane.Client.CoreV1().Namespaces().Create(ctx, template, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the namespace has its certificates and its service account", func() error {
		if _, err := controlPlane.Client.CoreV1().ConfigMaps(created.Name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := controlPlane.Client.CoreV1().ServiceAccounts(created.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return created.Name
}

func labelNamespace(ctx context.Context, t *testing.T, name, value string) *corev1.Namespace {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"e2e":"` + value + `"}}}`)
	namespace, err := cluster(t).Client.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return namespace
}
