package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// gadgetGroup is the API group of gadgets, a custom resource that all tests share.
const gadgetGroup = "deploy.example.com"

var (
	definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	gadgetResource     = schema.GroupVersionResource{Group: gadgetGroup, Version: "v1", Resource: "gadgets"}
	gadgetName         = "gadgets." + gadgetGroup
	defineGadgets      sync.Once
)

// withGadgets defines gadgets and blocks until they are served.
func withGadgets(ctx context.Context, t *testing.T) {
	t.Helper()
	controlPlane := cluster(t)
	defineGadgets.Do(func() {
		definition := &unstructured.Unstructured{Object: values{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": values{"name": gadgetName},
			"spec": values{
				"group": gadgetGroup, "scope": "Namespaced",
				"names": values{"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
				"versions": []any{values{"name": "v1", "served": true, "storage": true, "schema": values{"openAPIV3Schema": values{
					"type":       "object",
					"properties": values{"spec": values{"type": "object", "properties": values{"size": values{"type": "string"}}}},
				}}}},
			},
		}}
		_, err := controlPlane.Dynamic.Resource(definitionResource).Create(ctx, definition, metav1.CreateOptions{})
		succeeds(t, err)
	})
	succeeds(t, eventually(ctx, func() error {
		_, err := controlPlane.Dynamic.Resource(gadgetResource).List(ctx, metav1.ListOptions{})
		return err
	}))
}

func makeGadget(ctx context.Context, t *testing.T, namespace string) metav1.Object {
	t.Helper()
	gadget := &unstructured.Unstructured{Object: values{
		"apiVersion": gadgetGroup + "/v1", "kind": "Gadget", "metadata": values{"generateName": "made-"}, "spec": values{"size": "small"},
	}}
	created, err := cluster(t).Dynamic.Resource(gadgetResource).Namespace(namespace).Create(ctx, gadget, metav1.CreateOptions{})
	succeeds(t, err)
	return created
}

// noticesAnotherSchema lists a gadget as the administrator while its schema gains a default. The
// API server must not reject any request of the service meanwhile.
func noticesAnotherSchema(ctx context.Context, t *testing.T, installed installation) error {
	withGadgets(ctx, t)
	namespace := newNamespace(ctx, t, cluster(t), nil)
	makeGadget(ctx, t, namespace)
	client := installed.byCertificate(ctx, t).Resources
	request := &kubeconnectv1.ListRequest{Resource: gadgetName, Namespace: namespace}
	if _, err := client.List(ctx, request); err != nil {
		return err
	}
	field := "of-" + namespace // unique to this test
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/%s","value":{"type":"string","default":"yes"}}]`, field)
	_, err := cluster(t).Dynamic.Resource(definitionResource).Patch(ctx, gadgetName, types.JSONPatchType, patch, metav1.PatchOptions{})
	succeeds(t, err)
	return errors.Join(installed.refused(), eventually(ctx, func() error {
		list, err := client.List(ctx, request)
		for _, gadget := range list.GetObjects() {
			if gadget.GetStruct().GetFields()["spec"].GetStructValue().GetFields()[field].GetStringValue() == "yes" {
				return nil
			}
		}
		return errors.Join(err, errors.New("the service returns the old content"))
	}))
}
