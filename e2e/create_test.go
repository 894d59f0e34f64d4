package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

const encodingJSON = kubeconnectv1.Encoding_ENCODING_JSON

// writable is a resource in the form in which callers write it.
type writable struct {
	name    string // in kubectl's syntax
	builtIn bool
	kind    schema.GroupVersionKind
	content string // the member that tests change
	objects dynamic.ResourceInterface
}

// bothSorts returns a built-in resource and a custom one, of a namespace.
func bothSorts(ctx context.Context, t *testing.T, namespace string) map[string]writable {
	t.Helper()
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	configMaps := cluster(t).Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	return map[string]writable{
		"built in": {"configmaps", true, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "data", configMaps.Namespace(namespace)},
		"custom":   {gadgets.name(), false, schema.GroupVersionKind{Group: gadgets.group, Version: "v1", Kind: "Gadget"}, "spec", gadgets.objects("v1", namespace)},
	}
}

// object returns an object to write.
func (w writable) object(name, color string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name}, w.content: map[string]any{"color": color}}
}

// create creates an object through the service.
func (w writable) create(ctx context.Context, t *testing.T, client resourceClient, namespace string, object map[string]any) *kubeconnectv1.Object {
	t.Helper()
	request := w.bodies(t, object)["JSON"]
	request.Resource, request.Namespace = w.name, namespace
	response, err := client.Create(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return response.GetObject()
}

// get reads an object with client-go.
func (w writable) get(ctx context.Context, t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := w.objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// bodies returns an object in every form of a request.
func (w writable) bodies(t *testing.T, object map[string]any) map[string]*kubeconnectv1.CreateRequest {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	members, err := structpb.NewStruct(object)
	if err != nil {
		t.Fatal(err)
	}
	metadata, content := object["metadata"].(map[string]any), object[w.content].(map[string]any)
	yaml := fmt.Sprintf("# a comment\nmetadata:\n  name: %v\n%s:\n  color: %v\n", metadata["name"], w.content, content["color"])
	bodies := map[string]*kubeconnectv1.CreateRequest{
		"struct": {Body: &kubeconnectv1.CreateRequest_Struct{Struct: members}},
		"JSON":   {Body: &kubeconnectv1.CreateRequest_Data{Data: text}},
		"YAML":   {Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(yaml)}},
	}
	if w.builtIn {
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

// wantSame fails the test unless the response is the object that client-go reads.
func wantSame(t *testing.T, answered *kubeconnectv1.Object, read *unstructured.Unstructured) {
	t.Helper()
	got := map[string]any{}
	if err := json.Unmarshal(answered.GetJson(), &got); err != nil {
		t.Fatal(err)
	}
	text, err := read.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the service returns %v, client-go %v", got, want)
	}
}

func TestCreate_AcceptsEveryEncoding(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		for sort, resource := range bothSorts(ctx, t, namespace) {
			for form, request := range resource.bodies(t, resource.object("one", "red")) {
				t.Run(sort+" as "+form, func(t *testing.T) {
					createAndCompare(ctx, t, client, resource, namespace, request)
				})
			}
		}
	})
}

func createAndCompare(ctx context.Context, t *testing.T, client resourceClient, resource writable, namespace string, request *kubeconnectv1.CreateRequest) {
	t.Helper()
	request.Resource, request.Namespace, request.Encoding = resource.name, namespace, encodingJSON
	request.DryRun = true
	if _, err := client.Create(ctx, request); err != nil {
		t.Fatal(err)
	}
	request.DryRun = false
	response, err := client.Create(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	now := resource.get(ctx, t, "one")
	wantSame(t, response.GetObject(), now)
	wantField(t, now.Object, "red", resource.content, "color")
	if fields := now.GetManagedFields(); len(fields) != 1 || fields[0].Manager != "kubeconnect" {
		t.Errorf("field managers %v", fields)
	}
	_, err = client.Create(ctx, request)
	wantError(t, err, connect.CodeAlreadyExists, `"one" already exists`)
	wantStatus(t, err, "AlreadyExists")
	if _, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: resource.name, Namespace: namespace, Name: "one"}); err != nil {
		t.Fatal(err)
	}
}

func TestUpdate_AcceptsEveryEncoding(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		for sort, resource := range bothSorts(ctx, t, namespace) {
			resource.create(ctx, t, client, namespace, resource.object("one", "red"))
			for form, body := range resource.bodies(t, resource.object("one", "blue")) {
				t.Run(sort+" as "+form, func(t *testing.T) {
					updateAndCompare(ctx, t, client, resource, namespace, updateWith(body))
				})
			}
		}
	})
}

// updateWith returns an update with the body of a creation.
func updateWith(body *kubeconnectv1.CreateRequest) *kubeconnectv1.UpdateRequest {
	request := &kubeconnectv1.UpdateRequest{}
	switch body := body.GetBody().(type) {
	case *kubeconnectv1.CreateRequest_Struct:
		request.Body = &kubeconnectv1.UpdateRequest_Struct{Struct: body.Struct}
	case *kubeconnectv1.CreateRequest_Data:
		request.Body = &kubeconnectv1.UpdateRequest_Data{Data: body.Data}
	case *kubeconnectv1.CreateRequest_Protobuf:
		request.Body = &kubeconnectv1.UpdateRequest_Protobuf{Protobuf: body.Protobuf}
	}
	return request
}

// updateAndCompare replaces an object under preconditions that are not met, and then under
// preconditions that are met.
func updateAndCompare(ctx context.Context, t *testing.T, client resourceClient, resource writable, namespace string, request *kubeconnectv1.UpdateRequest) {
	t.Helper()
	before := resource.get(ctx, t, "one")
	request.Resource, request.Namespace, request.Encoding = resource.name, namespace, encodingJSON
	for words, wrong := range map[string]*kubeconnectv1.Preconditions{
		"its UID is not 8f3c5a3e-0000-4000-8000-000000000000": {Uid: "8f3c5a3e-0000-4000-8000-000000000000"},
		"the object has been modified":                        {ResourceVersion: "1"},
		"please apply your changes to the latest version":     {Uid: string(before.GetUID()), ResourceVersion: "1"},
	} {
		request.Preconditions = wrong
		_, err := client.Update(ctx, request)
		wantError(t, err, connect.CodeAborted, words)
	}
	if now := resource.get(ctx, t, "one"); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the object was changed although the precondition is not met")
	}
	request.Preconditions = &kubeconnectv1.Preconditions{Uid: string(before.GetUID()), ResourceVersion: before.GetResourceVersion()}
	updated, err := client.Update(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	now := resource.get(ctx, t, "one")
	wantSame(t, updated.GetObject(), now)
	wantField(t, now.Object, "blue", resource.content, "color")
	if updated.GetCreated() {
		t.Error("the object existed before")
	}
	if _, err := resource.objects.Patch(ctx, "one", "application/merge-patch+json", fmt.Appendf(nil, `{%q:{"color":"red"}}`, resource.content), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
