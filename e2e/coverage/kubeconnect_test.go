package coverage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// kubeconnect calls the service.
type kubeconnect struct {
	client kubeconnectv1connect.ResourceServiceClient
}

// resource returns the resource of a row in kubectl's full syntax.
func (r row) resource() string {
	return strings.Join([]string{r.apiResource.Resource, r.apiResource.Version, r.apiResource.Group}, ".")
}

func (k kubeconnect) do(ctx context.Context, params call) (any, error) {
	if !params.row.namespaced {
		params.namespace = ""
	}
	switch params.verb {
	case "get":
		return k.get(ctx, params)
	case "list":
		return k.list(ctx, params)
	case "create":
		return k.create(ctx, params)
	case "update":
		return k.update(ctx, params)
	case "patch":
		return k.patch(ctx, params)
	case "delete":
		return k.delete(ctx, params)
	case "deletecollection":
		return k.deleteCollection(ctx, params)
	}
	return nil, errors.New("unknown verb: " + params.verb)
}

func (k kubeconnect) get(ctx context.Context, params call) (any, error) {
	request := &kubeconnectv1.GetRequest{
		Resource: params.row.resource(), Namespace: params.namespace, Name: params.name, Subresource: params.row.subresource,
		Encoding: params.encoding, MinResourceVersion: params.since, Consistency: params.consistency,
	}
	answer, err := k.client.Get(ctx, request)
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetResource())
}

// list reads all pages.
func (k kubeconnect) list(ctx context.Context, params call) (any, error) {
	request := &kubeconnectv1.ListRequest{
		Resource: params.row.resource(), Namespace: params.namespace, LabelSelector: params.labels, FieldSelector: params.fields,
		Encoding: params.encoding, MinResourceVersion: params.since, Consistency: params.consistency,
	}
	found := []any{}
	for {
		page, err := k.client.List(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, object := range page.GetObjects() {
			read, err := decode(object, page.GetResource())
			if err != nil {
				return nil, err
			}
			found = append(found, read)
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			return found, nil
		}
	}
}

func (k kubeconnect) create(ctx context.Context, params call) (any, error) {
	body, err := json.Marshal(params.body)
	if err != nil {
		return nil, err
	}
	request := &kubeconnectv1.CreateRequest{
		Resource: params.row.resource(), Namespace: params.namespace, Subresource: params.row.subresource,
		FieldManager: params.manager, Encoding: params.encoding, Body: &kubeconnectv1.CreateRequest_Data{Data: body},
	}
	if params.row.subresource != "" {
		request.Name = params.name
	}
	answer, err := k.client.Create(ctx, request)
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetResource())
}

func (k kubeconnect) update(ctx context.Context, params call) (any, error) {
	body, err := json.Marshal(params.body)
	if err != nil {
		return nil, err
	}
	answer, err := k.client.Update(ctx, &kubeconnectv1.UpdateRequest{
		Resource: params.row.resource(), Namespace: params.namespace, Name: params.name, Subresource: params.row.subresource,
		FieldManager: params.manager, Encoding: params.encoding, Body: &kubeconnectv1.UpdateRequest_Data{Data: body},
	})
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetResource())
}

var patchTypes = map[types.PatchType]kubeconnectv1.PatchType{
	types.JSONPatchType:           kubeconnectv1.PatchType_PATCH_TYPE_JSON,
	types.MergePatchType:          kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	types.StrategicMergePatchType: kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE,
	types.ApplyYAMLPatchType:      kubeconnectv1.PatchType_PATCH_TYPE_APPLY,
}

func (k kubeconnect) patch(ctx context.Context, params call) (any, error) {
	answer, err := k.client.Patch(ctx, &kubeconnectv1.PatchRequest{
		Resource: params.row.resource(), Namespace: params.namespace, Name: params.name, Subresource: params.row.subresource,
		Type: patchTypes[params.patchType], Body: &kubeconnectv1.PatchRequest_Data{Data: params.patch},
		FieldManager: params.manager, Force: params.force, Encoding: params.encoding,
	})
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetResource())
}

func (k kubeconnect) delete(ctx context.Context, params call) (any, error) {
	answer, err := k.client.Delete(ctx, &kubeconnectv1.DeleteRequest{
		Resource: params.row.resource(), Namespace: params.namespace, Name: params.name, Encoding: params.encoding,
		Preconditions: &kubeconnectv1.Preconditions{Uid: params.uid},
	})
	if err != nil || answer.GetObject() == nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetResource())
}

func (k kubeconnect) deleteCollection(ctx context.Context, params call) (any, error) {
	answer, err := k.client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{
		Resource: params.row.resource(), Namespace: params.namespace, LabelSelector: params.labels, FieldSelector: params.fields,
	})
	if err != nil {
		return nil, err
	}
	return int(answer.GetDeletedCount()), nil
}

// decode returns the content of an object, in any encoding.
func decode(object *kubeconnectv1.Object, kind *kubeconnectv1.Resource) (map[string]any, error) {
	switch carried := object.GetContent().(type) {
	case *kubeconnectv1.Object_Struct:
		text, err := carried.Struct.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return members(text)
	case *kubeconnectv1.Object_Json:
		return members(carried.Json)
	case *kubeconnectv1.Object_Protobuf:
		return message(carried.Protobuf, schema.GroupVersionKind{Group: kind.GetGroup(), Version: kind.GetVersion(), Kind: kind.GetKind()})
	}
	return nil, fmt.Errorf("unexpected content %T", object.GetContent())
}

func members(text []byte) (read map[string]any, err error) {
	return read, utiljson.Unmarshal(text, &read)
}

// message decodes the protobuf message of a kind.
func message(from []byte, kind schema.GroupVersionKind) (map[string]any, error) {
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err := object.(interface{ Unmarshal([]byte) error }).Unmarshal(from); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return typed(object)
}

// typed returns the JSON of a Go type.
func typed(object runtime.Object) (map[string]any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return members(text)
}

// throughType returns a response of client-go as the kind's Go type encodes it, if there is one: a
// protobuf response has been converted by the same type.
func throughType(t *testing.T, content any) any {
	t.Helper()
	switch content := content.(type) {
	case []any:
		for i := range content {
			content[i] = throughType(t, content[i])
		}
	case map[string]any:
		object := &unstructured.Unstructured{Object: content}
		converted, err := scheme.Scheme.New(object.GroupVersionKind())
		if err != nil {
			return content
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, converted); err != nil {
			t.Fatal(err)
		}
		through, err := typed(converted)
		if err != nil {
			t.Fatal(err)
		}
		return through
	}
	return content
}

// ownWords matches the prefix that the service adds to a message of client-go: the part of the
// request that the error is about.
var ownWords = regexp.MustCompile(`^(label_selector "[^"]*"|\S+ do not support strategic merge patches, use [^:]*): `)

// failureThrough returns the failure in an error of the service.
func failureThrough(err error) *failure {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return &failure{Message: err.Error()}
	}
	for _, detail := range failed.Details() {
		value, err := connectproto.UnmarshalErrorDetail(detail)
		status, ok := value.(*kubeconnectv1.Status)
		if err != nil || !ok {
			continue
		}
		got := &failure{
			Reason: status.GetReason(), Message: ownWords.ReplaceAllString(status.GetMessage(), ""), Code: status.GetCode(),
			Group: status.GetGroup(), Kind: status.GetKind(), Name: status.GetName(), UID: status.GetUid(), RetryAfter: status.GetRetryAfterSeconds(),
		}
		for _, statusCause := range status.GetCauses() {
			got.Causes = append(got.Causes, cause{statusCause.GetReason(), statusCause.GetMessage(), statusCause.GetField()})
		}
		return got.withoutClarity().shortened()
	}
	return &failure{Message: failed.Error()}
}

// clarified matches the messages to which the service adds their subject: of a patch whose result
// does not match the kind, and of a JSON patch that cannot be applied.
var clarified = map[*regexp.Regexp]string{
	regexp.MustCompile(`^\S+ "[^"]+"( is invalid: patch: )`):                            ` ""$1`,
	regexp.MustCompile(`^\S+ "[^"]+" is invalid: the JSON patch cannot be applied: .*`): "the server rejected our request due to an error in our request",
}

// withoutClarity returns the failure without the service's additions.
func (f *failure) withoutClarity() *failure {
	for words, before := range clarified {
		if words.MatchString(f.Message) {
			f.Message = words.ReplaceAllString(f.Message, before)
			f.Group, f.Kind, f.Name = "", "", ""
		}
	}
	return f
}
