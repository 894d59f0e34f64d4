package coverage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"connectrpc.com/connect"
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
	return strings.Join([]string{r.of.Resource, r.of.Version, r.of.Group}, ".")
}

func (k kubeconnect) do(ctx context.Context, asked call) (any, error) {
	if !asked.of.namespaced {
		asked.namespace = ""
	}
	switch asked.verb {
	case "get":
		return k.get(ctx, asked)
	case "list":
		return k.list(ctx, asked)
	case "create":
		return k.create(ctx, asked)
	case "update":
		return k.update(ctx, asked)
	case "patch":
		return k.patch(ctx, asked)
	case "delete":
		return k.delete(ctx, asked)
	case "deletecollection":
		return k.deleteCollection(ctx, asked)
	}
	return nil, errors.New("unknown verb: " + asked.verb)
}

func (k kubeconnect) get(ctx context.Context, asked call) (any, error) {
	request := &kubeconnectv1.GetRequest{
		Resource: asked.of.resource(), Namespace: asked.namespace, Name: asked.name, Subresource: asked.of.subresource,
		Encoding: asked.encoding, MinResourceVersion: asked.since, Consistency: asked.consistency,
	}
	answer, err := k.client.Get(ctx, request)
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetKind())
}

// list reads all pages.
func (k kubeconnect) list(ctx context.Context, asked call) (any, error) {
	request := &kubeconnectv1.ListRequest{
		Resource: asked.of.resource(), Namespace: asked.namespace, LabelSelector: asked.labels, FieldSelector: asked.fields,
		Encoding: asked.encoding, MinResourceVersion: asked.since, Consistency: asked.consistency,
	}
	found := []any{}
	for {
		page, err := k.client.List(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, object := range page.GetObjects() {
			read, err := decode(object, page.GetKind())
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

func (k kubeconnect) create(ctx context.Context, asked call) (any, error) {
	body, err := json.Marshal(asked.body)
	if err != nil {
		return nil, err
	}
	request := &kubeconnectv1.CreateRequest{
		Resource: asked.of.resource(), Namespace: asked.namespace, Subresource: asked.of.subresource,
		FieldManager: asked.manager, Encoding: asked.encoding, Body: &kubeconnectv1.CreateRequest_Data{Data: body},
	}
	if asked.of.subresource != "" {
		request.Name = asked.name
	}
	answer, err := k.client.Create(ctx, request)
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetKind())
}

func (k kubeconnect) update(ctx context.Context, asked call) (any, error) {
	body, err := json.Marshal(asked.body)
	if err != nil {
		return nil, err
	}
	answer, err := k.client.Update(ctx, &kubeconnectv1.UpdateRequest{
		Resource: asked.of.resource(), Namespace: asked.namespace, Name: asked.name, Subresource: asked.of.subresource,
		FieldManager: asked.manager, Encoding: asked.encoding, Body: &kubeconnectv1.UpdateRequest_Data{Data: body},
	})
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetKind())
}

var patchTypes = map[types.PatchType]kubeconnectv1.PatchType{
	types.JSONPatchType:           kubeconnectv1.PatchType_PATCH_TYPE_JSON,
	types.MergePatchType:          kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	types.StrategicMergePatchType: kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE,
	types.ApplyYAMLPatchType:      kubeconnectv1.PatchType_PATCH_TYPE_APPLY,
}

func (k kubeconnect) patch(ctx context.Context, asked call) (any, error) {
	answer, err := k.client.Patch(ctx, &kubeconnectv1.PatchRequest{
		Resource: asked.of.resource(), Namespace: asked.namespace, Name: asked.name, Subresource: asked.of.subresource,
		Type: patchTypes[asked.patchType], Body: &kubeconnectv1.PatchRequest_Data{Data: asked.patch},
		FieldManager: asked.manager, Force: asked.force, Encoding: asked.encoding,
	})
	if err != nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetKind())
}

func (k kubeconnect) delete(ctx context.Context, asked call) (any, error) {
	answer, err := k.client.Delete(ctx, &kubeconnectv1.DeleteRequest{
		Resource: asked.of.resource(), Namespace: asked.namespace, Name: asked.name, Encoding: asked.encoding,
		Preconditions: &kubeconnectv1.Preconditions{Uid: asked.uid},
	})
	if err != nil || answer.GetObject() == nil {
		return nil, err
	}
	return decode(answer.GetObject(), answer.GetKind())
}

func (k kubeconnect) deleteCollection(ctx context.Context, asked call) (any, error) {
	answer, err := k.client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{
		Resource: asked.of.resource(), Namespace: asked.namespace, LabelSelector: asked.labels, FieldSelector: asked.fields,
	})
	if err != nil {
		return nil, err
	}
	return int(answer.GetDeleted()), nil
}

// decode returns the content of an object, in any encoding.
func decode(object *kubeconnectv1.Object, kind *kubeconnectv1.ResourceKind) (map[string]any, error) {
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
		made, err := scheme.Scheme.New(object.GroupVersionKind())
		if err != nil {
			return content
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, made); err != nil {
			t.Fatal(err)
		}
		through, err := typed(made)
		if err != nil {
			t.Fatal(err)
		}
		return through
	}
	return content
}

// ownWords matches the prefix that the service adds to a message of client-go: the part of the
// request that the error is about.
var ownWords = regexp.MustCompile(`^(label_selector "[^"]*"|\S+ have no strategic merge patches, use [^:]*): `)

// failureThrough returns the failure in an error of the service.
func failureThrough(err error) *failure {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return &failure{Message: err.Error()}
	}
	for _, detail := range failed.Details() {
		value, err := detail.Value()
		status, ok := value.(*kubeconnectv1.Status)
		if err != nil || !ok {
			continue
		}
		said := &failure{
			Reason: status.GetReason(), Message: ownWords.ReplaceAllString(status.GetMessage(), ""), Code: status.GetCode(),
			Group: status.GetGroup(), Kind: status.GetKind(), Name: status.GetName(), UID: status.GetUid(), RetryAfter: status.GetRetryAfterSeconds(),
		}
		for _, of := range status.GetCauses() {
			said.Causes = append(said.Causes, cause{of.GetReason(), of.GetMessage(), of.GetField()})
		}
		return said.withoutClarity().shortened()
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
