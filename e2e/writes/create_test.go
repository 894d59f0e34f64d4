package writes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

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
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		for sort, resource := range kit.WritableResources(ctx, t, namespace) {
			for form, request := range resource.Bodies(t, resource.Object("one", "red")) {
				t.Run(sort+" as "+form, func(t *testing.T) {
					createAndCompare(ctx, t, client, resource, namespace, request)
				})
			}
		}
	})
}

func createAndCompare(ctx context.Context, t *testing.T, client kit.ResourceClient, resource kit.Writable, namespace string, request *kubeconnectv1.CreateRequest) {
	t.Helper()
	request.Resource, request.Namespace, request.Encoding = resource.Name, namespace, kit.EncodingJSON
	request.DryRun = true
	if _, err := client.Create(ctx, request); err != nil {
		t.Fatal(err)
	}
	request.DryRun = false
	response, err := client.Create(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	now := resource.Get(ctx, t, "one")
	wantSame(t, response.GetObject(), now)
	kit.WantField(t, now.Object, "red", resource.Content, "color")
	if fields := now.GetManagedFields(); len(fields) != 1 || fields[0].Manager != "kubeconnect" {
		t.Errorf("field managers %v", fields)
	}
	_, err = client.Create(ctx, request)
	kit.WantError(t, err, connect.CodeAlreadyExists, `"one" already exists`)
	kit.WantStatus(t, err, "AlreadyExists")
	if _, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: resource.Name, Namespace: namespace, Name: "one"}); err != nil {
		t.Fatal(err)
	}
}

func TestUpdate_AcceptsEveryEncoding(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		for sort, resource := range kit.WritableResources(ctx, t, namespace) {
			resource.Create(ctx, t, client, namespace, resource.Object("one", "red"))
			for form, body := range resource.Bodies(t, resource.Object("one", "blue")) {
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
func updateAndCompare(ctx context.Context, t *testing.T, client kit.ResourceClient, resource kit.Writable, namespace string, request *kubeconnectv1.UpdateRequest) {
	t.Helper()
	before := resource.Get(ctx, t, "one")
	request.Resource, request.Namespace, request.Encoding = resource.Name, namespace, kit.EncodingJSON
	for words, wrong := range map[string]*kubeconnectv1.Preconditions{
		"its UID is not 8f3c5a3e-0000-4000-8000-000000000000": {Uid: "8f3c5a3e-0000-4000-8000-000000000000"},
		"the object has been modified":                        {ResourceVersion: "1"},
		"please apply your changes to the latest version":     {Uid: string(before.GetUID()), ResourceVersion: "1"},
	} {
		request.Preconditions = wrong
		_, err := client.Update(ctx, request)
		kit.WantError(t, err, connect.CodeAborted, words)
	}
	if now := resource.Get(ctx, t, "one"); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the object was changed although the precondition is not met")
	}
	request.Preconditions = &kubeconnectv1.Preconditions{Uid: string(before.GetUID()), ResourceVersion: before.GetResourceVersion()}
	updated, err := client.Update(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	now := resource.Get(ctx, t, "one")
	wantSame(t, updated.GetObject(), now)
	kit.WantField(t, now.Object, "blue", resource.Content, "color")
	if updated.GetCreated() {
		t.Error("the object existed before")
	}
	if _, err := resource.Objects.Patch(ctx, "one", "application/merge-patch+json", fmt.Appendf(nil, `{%q:{"color":"red"}}`, resource.Content), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
