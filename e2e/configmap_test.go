package e2e_test

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// configMaps writes ConfigMaps of one namespace directly to the API server. A write that fails,
// fails the test.
type configMaps struct {
	ctx context.Context
	t   *testing.T
	api typedcorev1.ConfigMapInterface
}

func configMapsIn(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) configMaps {
	return configMaps{ctx: ctx, t: t, api: controlPlane.Client.CoreV1().ConfigMaps(namespace)}
}

type labels = map[string]string

func (c configMaps) create(name string, with labels) *corev1.ConfigMap {
	c.t.Helper()
	return c.must(c.api.Create(c.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with},
		Data:       map[string]string{"key": "value"},
	}, metav1.CreateOptions{}))
}

// touch changes data that no selector selects.
func (c configMaps) touch(name, value string) *corev1.ConfigMap {
	c.t.Helper()
	return c.patch(name, map[string]any{"data": map[string]any{"key": value}})
}

// relabel sets labels; nil removes a label.
func (c configMaps) relabel(name string, with map[string]any) *corev1.ConfigMap {
	c.t.Helper()
	return c.patch(name, map[string]any{"metadata": map[string]any{"labels": with}})
}

func (c configMaps) delete(name string) {
	c.t.Helper()
	if err := c.api.Delete(c.ctx, name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c configMaps) get(name string) *corev1.ConfigMap {
	c.t.Helper()
	return c.must(c.api.Get(c.ctx, name, metav1.GetOptions{}))
}

func (c configMaps) patch(name string, change any) *corev1.ConfigMap {
	c.t.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.must(c.api.Patch(c.ctx, name, types.MergePatchType, body, metav1.PatchOptions{}))
}

func (c configMaps) must(object *corev1.ConfigMap, err error) *corev1.ConfigMap {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	return object
}

// wantUnchanged fails the test unless an object is unchanged.
func wantUnchanged(t *testing.T, write configMaps, before *corev1.ConfigMap) {
	t.Helper()
	write.t = t
	if now := write.get(before.Name); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("%s has changed from version %s to %s", before.Name, before.ResourceVersion, now.ResourceVersion)
	}
}
