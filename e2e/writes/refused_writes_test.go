package writes_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestCreate_InvalidRequestsAreRejectedAndCreateNothing(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	sorts := kit.WritableResources(ctx, t, namespace)
	data := func(text string) *kubeconnectv1.CreateRequest {
		return &kubeconnectv1.CreateRequest{Resource: "configmaps", Namespace: namespace, Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(text)}}
	}
	with := func(request *kubeconnectv1.CreateRequest, change func(*kubeconnectv1.CreateRequest)) *kubeconnectv1.CreateRequest {
		change(request)
		return request
	}
	const good = `{"metadata":{"name":"one"},"data":{"color":"red"}}`
	for name, test := range map[string]struct {
		request *kubeconnectv1.CreateRequest
		words   string
	}{
		"no resource":       {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.Resource = "" }), "resource is required"},
		"no namespace":      {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.Namespace = "" }), "namespace is required"},
		"two namespaces":    {data(`{"metadata":{"name":"one","namespace":"default"}}`), "namespace"},
		"another name":      {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.Name = "two" }), "metadata.name"},
		"no body":           {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.Body = nil }), "body is required"},
		"an empty body":     {data(""), "name"},
		"no name":           {data(`{"data":{}}`), "name"},
		"text":              {data("hello"), "YAML"},
		"a list":            {data(`[{"metadata":{"name":"one"}}]`), "object"},
		"truncated JSON":    {data(good[:20]), "JSON"},
		"two documents":     {data("metadata: {name: one}\n---\nmetadata: {name: two}\n"), "more than one YAML document"},
		"another kind":      {data(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one"}}`), "Secret"},
		"an invalid value":  {data(`{"metadata":{"name":"one"},"data":{"color":{"deep":1}}}`), "data"},
		"an invalid name":   {data(`{"metadata":{"name":"One_"}}`), "lowercase RFC 1123"},
		"an unknown field":  {with(data(`{"metadata":{"name":"one"},"datas":{}}`), strictly), `unknown field "datas"`},
		"a duplicate field": {with(data(`{"metadata":{"name":"one"},"data":{"a":"1","a":"2"}}`), strictly), "duplicate field"},
		"deep JSON":         {data(`{"metadata":{"name":"one"},"data":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + "}"), "depth"},
		"invalid protobuf": {with(data(good), func(r *kubeconnectv1.CreateRequest) {
			r.Body = &kubeconnectv1.CreateRequest_Protobuf{Protobuf: []byte("\xff\xff\xff")}
		}), "protobuf"},
		"protobuf of a custom resource": {with(data(good), func(r *kubeconnectv1.CreateRequest) {
			r.Resource, r.Body = sorts["custom"].Name, &kubeconnectv1.CreateRequest_Protobuf{Protobuf: []byte{}}
		}), "no protobuf form"},
		"a path for a subresource": {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.Name, r.Subresource = "one", "a/../b" }), "subresource"},
		"a validation level":       {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.FieldValidation = 9 }), "field_validation"},
		"an encoding":              {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.Encoding = 9 }), "encoding"},
		"a field manager":          {with(data(good), func(r *kubeconnectv1.CreateRequest) { r.FieldManager = strings.Repeat("x", 129) }), "fieldManager"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Create(ctx, test.request)
			kit.WantError(t, err, connect.CodeInvalidArgument, test.words)
		})
	}
	for sort, resource := range sorts {
		if _, err := resource.Objects.Get(ctx, "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", sort, err)
		}
	}
}

func strictly(r *kubeconnectv1.CreateRequest) {
	r.FieldValidation = kubeconnectv1.FieldValidation_FIELD_VALIDATION_STRICT
}

// TestCreate_DuplicateFieldsAreReported tests both kinds of resources, in JSON and YAML.
func TestCreate_DuplicateFieldsAreReported(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	for sort, resource := range kit.WritableResources(ctx, t, namespace) {
		for form, body := range map[string]string{
			"JSON": fmt.Sprintf(`{"metadata":{"name":"one"},%q:{"color":"red","color":"blue"}}`, resource.Content),
			"YAML": fmt.Sprintf("metadata:\n  name: one\n%s:\n  color: red\n  color: blue\n", resource.Content),
		} {
			t.Run(sort+" in "+form, func(t *testing.T) {
				request := &kubeconnectv1.CreateRequest{
					Resource: resource.Name, Namespace: namespace, DryRun: true,
					Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(body)},
				}
				response, err := client.Create(ctx, request)
				if err != nil || len(response.GetWarnings()) != 1 || !strings.Contains(response.GetWarnings()[0], "color") {
					t.Errorf("warnings %q, %v", response.GetWarnings(), err)
				}
				strictly(request)
				_, err = client.Create(ctx, request)
				kit.WantError(t, err, connect.CodeInvalidArgument, "strict decoding error", "color")
				request.FieldValidation = kubeconnectv1.FieldValidation_FIELD_VALIDATION_IGNORE
				if response, err := client.Create(ctx, request); err != nil || len(response.GetWarnings()) != 0 {
					t.Errorf("with field_validation IGNORE: warnings %q, %v", response.GetWarnings(), err)
				}
			})
		}
	}
}

func TestCreate_WarnsOfUnknownFields(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	request := &kubeconnectv1.CreateRequest{
		Resource: "configmaps", Namespace: namespace,
		Body: &kubeconnectv1.CreateRequest_Data{Data: []byte("metadata:\n  name: one\ndatas: {}\n")},
	}
	response, err := client.Create(ctx, request)
	if err != nil || len(response.GetWarnings()) != 1 || !strings.Contains(response.GetWarnings()[0], `unknown field "datas"`) {
		t.Errorf("warnings %q, %v", response.GetWarnings(), err)
	}
}

// TestCreate_LargeIntegersAreExact tests integers that a float cannot represent.
func TestCreate_LargeIntegersAreExact(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	custom := kit.WritableResources(ctx, t, namespace)["custom"]
	for name, body := range map[string]string{
		"json": `{"metadata":{"name":"json"},"spec":{"large":9007199254740993}}`,
		"yaml": "metadata: {name: yaml}\nspec: {large: 9007199254740993}\n",
	} {
		response, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
			Resource: custom.Name, Namespace: namespace, Encoding: kit.EncodingJSON,
			Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(body)},
		})
		if err != nil || !strings.Contains(string(response.GetObject().GetJson()), "9007199254740993") {
			t.Errorf("%s: %s, %v", name, response.GetObject().GetJson(), err)
		}
		kit.WantField(t, custom.Get(ctx, t, name).Object, int64(9007199254740993), "spec", "large")
	}
}

// TestSubresources_AreCreatedAndReplaced tests the subresources that patches do not cover.
func TestSubresources_AreCreatedAndReplaced(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	kit.NewAccount(ctx, t, namespace, "robot")
	kit.CreateDeployment(ctx, t, namespace, "web", 0)
	kit.CreateUnscheduledPod(ctx, t, namespace, "one")

	create := func(resource, name, subresource, body string) *kubeconnectv1.CreateResponse {
		t.Helper()
		response, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
			Resource: resource, Namespace: namespace, Name: name, Subresource: subresource,
			Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(body)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	token := create("serviceaccounts", "robot", "token", `{"spec":{"expirationSeconds":600}}`)
	if kind := token.GetResource(); kind.GetKind() != "TokenRequest" || kind.GetGroup() != "authentication.k8s.io" {
		t.Errorf("kind of the response %v", kind)
	}
	if value := token.GetObject().GetStruct().AsMap()["status"].(map[string]any)["token"]; !strings.HasPrefix(fmt.Sprint(value), "ey") {
		t.Errorf("token %v", value)
	}

	bound := create("pods", "one", "binding", `{"metadata":{"name":"one"},"target":{"kind":"Node","name":"nowhere"}}`)
	if bound.GetResource().GetKind() != "Status" {
		t.Errorf("kind of the response %v", bound.GetResource())
	}
	pod, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Get(ctx, "one", metav1.GetOptions{})
	if err != nil || pod.Spec.NodeName != "nowhere" {
		t.Errorf("the pod is bound to %q, %v", pod.Spec.NodeName, err)
	}

	scale, err := structpb.NewStruct(map[string]any{"metadata": map[string]any{"name": "web", "namespace": namespace}, "spec": map[string]any{"replicas": 3}})
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{Resource: "deploy", Namespace: namespace, Name: "web", Subresource: "scale", Body: &kubeconnectv1.UpdateRequest_Struct{Struct: scale}})
	if err != nil {
		t.Fatal(err)
	}
	kit.WantField(t, scaled.GetObject().GetStruct().AsMap(), 3.0, "spec", "replicas")
	if replicas := kit.GetDeployment(ctx, t, namespace, "web").Spec.Replicas; *replicas != 3 {
		t.Errorf("%d replicas", *replicas)
	}
}
