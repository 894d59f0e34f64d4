package operators_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// websites is the group and version of Website.
var websites = schema.GroupVersion{Group: "operators.example.com", Version: "v1"}

// Website is a custom resource with a status.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              WebsiteSpec   `json:"spec"`
	Status            WebsiteStatus `json:"status,omitzero"`
}

// WebsiteSpec is what a Website should be.
type WebsiteSpec struct {
	Color string `json:"color"`
}

// WebsiteStatus is what the operator has done.
type WebsiteStatus struct {
	Shown              string             `json:"shown,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Website `json:"items"`
}

func (w *Website) copied() *Website {
	copied := *w
	w.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (w *Website) DeepCopyObject() runtime.Object { return w.copied() }

// DeepCopyObject implements runtime.Object.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = nil
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].copied())
	}
	return &copied
}

// defineWebsites creates the definition of Website, for all tests.
func defineWebsites(t *testing.T) {
	t.Helper()
	ctx := kit.Deadline(t)
	object := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "websites." + websites.Group},
		"spec": map[string]any{
			"group": websites.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "websites", "singular": "website", "kind": "Website", "listKind": "WebsiteList"},
			"versions": []any{map[string]any{
				"name": websites.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": object, "status": object},
				}},
			}},
		},
	}}
	if _, err := kit.Cluster(t).Dynamic.Resource(kit.CRDResource).Create(ctx, definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "Websites are served", func() error {
		_, err := kit.Cluster(t).Dynamic.Resource(websites.WithResource("websites")).List(ctx, metav1.ListOptions{})
		return err
	})
}

// TestOperators_WorkAtTheServiceAsAtTheAPIServer runs each program at both, at the same time.
func TestOperators_WorkAtTheServiceAsAtTheAPIServer(t *testing.T) {
	defineWebsites(t)
	for name, config := range sides {
		t.Run("an operator at "+name, func(t *testing.T) {
			t.Parallel()
			operate(t, config(t))
		})
		t.Run("a cache at "+name, func(t *testing.T) {
			t.Parallel()
			followAll(t, config(t))
		})
	}
}
