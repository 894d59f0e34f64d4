package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Writable is a resource in the form in which callers write it.
type Writable struct {
	Name    string // in kubectl's syntax
	BuiltIn bool
	Kind    schema.GroupVersionKind
	Content string // the member that tests change
	Objects dynamic.ResourceInterface
}

// WritableResources returns a built-in resource and a custom one, of a namespace.
func WritableResources(ctx context.Context, t *testing.T, namespace string) map[string]Writable {
	t.Helper()
	gadgets := NewCustomResource(ctx, t, Cluster(t), namespace)
	gadgets.Define("v1")
	configMaps := Cluster(t).Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	return map[string]Writable{
		"built in": {"configmaps", true, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "data", configMaps.Namespace(namespace)},
		"custom":   {gadgets.Name(), false, schema.GroupVersionKind{Group: gadgets.Group, Version: "v1", Kind: "Gadget"}, "spec", gadgets.Objects("v1", namespace)},
	}
}

// Object returns an object to write.
func (w Writable) Object(name, color string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name}, w.Content: map[string]any{"color": color}}
}

// Create creates an object through the service.
func (w Writable) Create(ctx context.Context, t *testing.T, client ResourceClient, namespace string, object map[string]any) *kubeconnectv1.Object {
	t.Helper()
	request := w.Bodies(t, object)["JSON"]
	request.Resource, request.Namespace = w.Name, namespace
	response, err := client.Create(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return response.GetObject()
}

// Get reads an object with client-go.
func (w Writable) Get(ctx context.Context, t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := w.Objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// Bodies returns an object in every form of a request.
func (w Writable) Bodies(t *testing.T, object map[string]any) map[string]*kubeconnectv1.CreateRequest {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	members, err := structpb.NewStruct(object)
	if err != nil {
		t.Fatal(err)
	}
	metadata, content := object["metadata"].(map[string]any), object[w.Content].(map[string]any)
	yaml := fmt.Sprintf("# a comment\nmetadata:\n  name: %v\n%s:\n  color: %v\n", metadata["name"], w.Content, content["color"])
	bodies := map[string]*kubeconnectv1.CreateRequest{
		"struct": {Body: &kubeconnectv1.CreateRequest_Struct{Struct: members}},
		"JSON":   {Body: &kubeconnectv1.CreateRequest_Data{Data: text}},
		"YAML":   {Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(yaml)}},
	}
	if w.BuiltIn {
		message, err := (&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: metadata["name"].(string)}, Data: map[string]string{"color": content["color"].(string)},
		}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		bodies["protobuf"] = &kubeconnectv1.CreateRequest{Body: &kubeconnectv1.CreateRequest_Protobuf{Protobuf: message}}
	}
	return bodies
}
