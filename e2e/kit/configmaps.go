package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// ConfigMaps writes ConfigMaps of one namespace directly to the API server. A write that fails,
// fails the test.
type ConfigMaps struct {
	Ctx context.Context
	T   *testing.T
	API typedcorev1.ConfigMapInterface
}

// ConfigMapsIn returns the ConfigMaps of a namespace, written directly to the API server.
func ConfigMapsIn(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) ConfigMaps {
	return ConfigMaps{Ctx: ctx, T: t, API: controlPlane.Client.CoreV1().ConfigMaps(namespace)}
}

// Labels is the type of labels, annotations and data.
type Labels = map[string]string

// Create creates a ConfigMap with these labels.
func (c ConfigMaps) Create(name string, with Labels) *corev1.ConfigMap {
	c.T.Helper()
	return c.must(c.API.Create(c.Ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with},
		Data:       map[string]string{"key": "value"},
	}, metav1.CreateOptions{}))
}

// Touch changes data that no selector selects.
func (c ConfigMaps) Touch(name, value string) *corev1.ConfigMap {
	c.T.Helper()
	return c.Patch(name, map[string]any{"data": map[string]any{"key": value}})
}

// Relabel sets labels; nil removes a label.
func (c ConfigMaps) Relabel(name string, with map[string]any) *corev1.ConfigMap {
	c.T.Helper()
	return c.Patch(name, map[string]any{"metadata": map[string]any{"labels": with}})
}

// Delete deletes a ConfigMap.
func (c ConfigMaps) Delete(name string) {
	c.T.Helper()
	if err := c.API.Delete(c.Ctx, name, metav1.DeleteOptions{}); err != nil {
		c.T.Fatal(err)
	}
}

// Get returns a ConfigMap as the API server has it.
func (c ConfigMaps) Get(name string) *corev1.ConfigMap {
	c.T.Helper()
	return c.must(c.API.Get(c.Ctx, name, metav1.GetOptions{}))
}

// Patch applies a merge patch, which is encoded as JSON.
func (c ConfigMaps) Patch(name string, change any) *corev1.ConfigMap {
	c.T.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		c.T.Fatal(err)
	}
	return c.must(c.API.Patch(c.Ctx, name, types.MergePatchType, body, metav1.PatchOptions{}))
}

func (c ConfigMaps) must(object *corev1.ConfigMap, err error) *corev1.ConfigMap {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
	return object
}

// WantUnchanged fails the test unless an object is unchanged.
func WantUnchanged(t *testing.T, write ConfigMaps, before *corev1.ConfigMap) {
	t.Helper()
	write.T = t
	if now := write.Get(before.Name); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("%s has changed from version %s to %s", before.Name, before.ResourceVersion, now.ResourceVersion)
	}
}

// OwnedBy creates a ConfigMap that blocks the deletion of its owner.
func OwnedBy(ctx context.Context, t *testing.T, owner *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	blocks := true
	owned, err := Cluster(t).Client.CoreV1().ConfigMaps(owner.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &blocks}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return owned
}

// CheckDeleted returns an error while the API server still has an object.
func CheckDeleted(ctx context.Context, t *testing.T, object *corev1.ConfigMap) error {
	t.Helper()
	_, err := Cluster(t).Client.CoreV1().ConfigMaps(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s exists: %w", object.Name, err)
}

// Large creates an object that is large enough for patches to be smaller.
func (c ConfigMaps) Large(name string) *corev1.ConfigMap {
	c.T.Helper()
	c.Create(name, nil)
	return c.Patch(name, map[string]any{"data": map[string]any{"large": fmt.Sprintf("%01000d", 0)}})
}

// DeletedAt returns the version at which an object was deleted, from a watch of the API server that
// begins at an older version.
func (c ConfigMaps) DeletedAt(object *corev1.ConfigMap, since string) string {
	c.T.Helper()
	events, err := c.API.Watch(c.Ctx, metav1.ListOptions{ResourceVersion: since, FieldSelector: "metadata.name=" + object.Name})
	if err != nil {
		c.T.Fatal(err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if deleted, ok := event.Object.(*corev1.ConfigMap); ok && event.Type == watch.Deleted && deleted.UID == object.UID {
			return deleted.ResourceVersion
		}
	}
	c.T.Fatalf("the API server's watch does not return the deletion of %s", object.Name)
	return ""
}

// CreateBig creates a ConfigMap close to the size limit.
func (c ConfigMaps) CreateBig(name string, with Labels) *corev1.ConfigMap {
	c.T.Helper()
	return c.must(c.API.Create(c.Ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with},
		Data:       map[string]string{"big": strings.Repeat("x", bigSize)},
	}, metav1.CreateOptions{}))
}

// SecretsIn returns a client that writes Secrets of a namespace directly to the API server.
func SecretsIn(t *testing.T, namespace string) typedcorev1.SecretInterface {
	return Cluster(t).Client.CoreV1().Secrets(namespace)
}
