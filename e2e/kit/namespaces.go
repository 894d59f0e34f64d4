package kit

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// CreateNamespace makes a namespace of a name, and waits for its service account.
func CreateNamespace(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	if _, err := Cluster(t).Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	Eventually(ctx, t, "the namespace has its service account", func() error {
		_, err := Cluster(t).Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return name
}

// RemoveAtEnd deletes a namespace when the test ends.
func RemoveAtEnd(ctx context.Context, t *testing.T, namespace string) {
	t.Cleanup(func() {
		err := Cluster(t).Client.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), namespace, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

// NewNamespace creates a namespace for this test, and waits for the objects that the control plane
// creates in every namespace, so that they do not appear later.
func NewNamespace(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) string {
	t.Helper()
	template := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	created, err := controlPlane.Client.CoreV1().Namespaces().Create(ctx, template, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	Eventually(ctx, t, "the namespace has its certificates and its service account", func() error {
		if _, err := controlPlane.Client.CoreV1().ConfigMaps(created.Name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := controlPlane.Client.CoreV1().ServiceAccounts(created.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return created.Name
}
