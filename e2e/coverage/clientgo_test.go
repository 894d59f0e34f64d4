package coverage_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// clientGo calls the API server with client-go: with its dynamic client, and with a REST client
// where the dynamic client would discard the response.
type clientGo struct{ cluster *harness.Cluster }

func (c clientGo) do(ctx context.Context, params call) (any, error) {
	objects, parts := c.objects(params), subresources(params.row)
	switch params.verb {
	case "get":
		return content(objects.Get(ctx, params.name, metav1.GetOptions{}, parts...))
	case "list":
		return items(objects.List(ctx, metav1.ListOptions{LabelSelector: params.labels, FieldSelector: params.fields}))
	case "create":
		return content(objects.Create(ctx, params.object(), metav1.CreateOptions{FieldManager: params.manager}, parts...))
	case "update":
		return content(objects.Update(ctx, params.object(), metav1.UpdateOptions{FieldManager: params.manager}, parts...))
	case "patch":
		return content(objects.Patch(ctx, params.name, params.patchType, params.patch, patchOptions(params), parts...))
	case "delete":
		return c.delete(ctx, params)
	case "deletecollection":
		return c.deleteCollection(ctx, params)
	}
	return nil, errors.New("unknown verb: " + params.verb)
}

func (c clientGo) objects(params call) dynamic.ResourceInterface {
	resource := c.cluster.Dynamic.Resource(params.row.apiResource)
	if params.row.namespaced {
		return resource.Namespace(params.namespace)
	}
	return resource
}

func subresources(row row) []string {
	if row.subresource == "" {
		return nil
	}
	return []string{row.subresource}
}

// object returns the body for the dynamic client.
func (c call) object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: c.body}
	object = object.DeepCopy()
	if c.row.subresource != "" && object.GetName() == "" {
		object.SetName(c.name) // the client reads the name from the object
	}
	return object
}

func patchOptions(params call) metav1.PatchOptions {
	options := metav1.PatchOptions{FieldManager: params.manager}
	if params.patchType == types.ApplyYAMLPatchType {
		options.Force = &params.force
	}
	return options
}

func content(object *unstructured.Unstructured, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object.Object, nil
}

func items(list *unstructured.UnstructuredList, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	found := []any{}
	for _, item := range list.Items {
		found = append(found, item.Object)
	}
	return found, nil
}

// delete returns the remaining object; nil if the API server only confirms the deletion.
func (c clientGo) delete(ctx context.Context, params call) (any, error) {
	options := metav1.DeleteOptions{}
	if uid := types.UID(params.uid); uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	left, err := c.send(ctx, params, options)
	if err != nil || left["kind"] == "Status" {
		return nil, err
	}
	return left, nil
}

func (c clientGo) deleteCollection(ctx context.Context, params call) (any, error) {
	deleted, err := c.send(ctx, params, metav1.DeleteOptions{})
	if err != nil {
		return nil, err
	}
	items, _ := deleted["items"].([]any)
	return len(items), nil
}

func (c clientGo) send(ctx context.Context, params call, options metav1.DeleteOptions) (map[string]any, error) {
	body, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	request := c.cluster.Client.Discovery().RESTClient().Delete().AbsPath(path(params)).
		SetHeader("Accept", "application/json").SetHeader("Content-Type", "application/json").Body(body)
	if params.labels != "" {
		request.Param("labelSelector", params.labels)
	}
	if params.fields != "" {
		request.Param("fieldSelector", params.fields)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	left := map[string]any{}
	return left, json.Unmarshal(answer, &left)
}

// path returns the API server's path for a call.
func path(params call) string {
	parts := []string{"/apis", params.row.apiResource.Group, params.row.apiResource.Version}
	if params.row.apiResource.Group == "" {
		parts = []string{"/api", params.row.apiResource.Version}
	}
	if params.row.namespaced {
		parts = append(parts, "namespaces", params.namespace)
	}
	parts = append(parts, params.row.apiResource.Resource, params.name, params.row.subresource)
	return strings.TrimRight(strings.Join(parts, "/"), "/")
}

// failureOf returns the failure in an error of client-go.
func failureOf(err error) *failure {
	var failed apierrors.APIStatus
	if !errors.As(err, &failed) {
		return &failure{Message: err.Error()}
	}
	status := failed.Status()
	got := &failure{Reason: string(status.Reason), Message: status.Message, Code: status.Code}
	if status.Details == nil {
		return got.shortened()
	}
	got.Group, got.Kind, got.Name, got.UID = status.Details.Group, status.Details.Kind, status.Details.Name, string(status.Details.UID)
	got.RetryAfter = status.Details.RetryAfterSeconds
	for _, statusCause := range status.Details.Causes {
		got.Causes = append(got.Causes, cause{string(statusCause.Type), statusCause.Message, statusCause.Field})
	}
	return got.shortened()
}
